"""Which rows does a plan ask for, and which of a run's rows did nobody ask for?

plan.toml has shapes, recipes, cache states and processes, run.json the device's offers. What only the device can name is taken
from the rows: which ceiling loops and units there are, the launch tile of a product, the shapes beside a ladder's tile.
"""

import re

from cell_rows import PRODUCTS

LEFT_OUT, CEILINGS, METERS, CONVERSIONS = "!", "ceilings", "meters", "conversions"
BLIND = ("zeros", "constant")
ALONE = ("rung", "version", "unit", "conversion", "product", "meter")
DIED = ("crashed", "hung", "out-of-memory", "device-lost", "failed")
NAMED = 12


def takes(select, path, triple, name):
    """Whether a plan's lists and filter take something."""
    text = f"{path} {name} {triple}".lower()
    return ((not select["paths"] or path in select["paths"]) and (not select["triples"] or triple in select["triples"])
            and all(re.search(r"(?<![^\W_])" + re.escape(word), text) for word in select["filter"].lower().split()))


def split(block):
    """(block without `~n`, n)."""
    match = re.fullmatch(r"(.*)~([1-9][0-9]{0,8})", block, re.DOTALL)
    return (match[1], int(match[2])) if match else (block, 0)


def rivals(plan, every, selected):
    """Offers that verdicts about the selected ones need: their match and their baselines, where the device has them."""
    if len(selected) == len(every) or not {"throughput", "dispatch"} & set(plan["probes"]):
        return set()
    matched, needed = plan["match.triple"], set()
    present = {offer for offer, absent in every.items() if not absent}
    for path, triple in present & set(selected):
        on_path = (path, matched) in present
        needed |= {(path, matched)} if on_path else {offer for offer in every if offer[1] == matched}
        for baseline in (plan["baselines.b"], plan["baselines.c"]):
            needed.add((baseline, triple if (baseline, triple) in present else matched))
        needed.add((plan["baselines.d"], matched))
        if "dispatch" in plan["probes"]:
            needed.add((plan["baselines.a"], matched if on_path else triple))
    return needed & present - set(selected)


class Asked:
    """What plan and offers ask for."""

    def __init__(self, plan, offers):
        self.plan, self.probes = plan, plan["probes"]
        self.shapes, self.recipes = plan["throughput.shapes"], plan["throughput.recipes"]
        self.caches, self.processes = plan["throughput.caches"], plan["sampling.processes"]
        self.select = {key: plan["select." + key] for key in ("paths", "triples", "filter")}
        self.places = {f"{offset}/{stride}" for offset in plan.get("alignment.offsets", ())
                       for stride in plan.get("alignment.strides", ())}
        self.orders = plan["order.shapes"] if "order" in self.probes else []
        every = {(path, triple): absent for path, triple, absent in offers}
        self.offers = {offer: absent for offer, absent in every.items() if takes(self.select, *offer, "")}
        self.timed = {offer for offer, absent in self.offers.items() if not absent} | rivals(plan, every, self.offers)
        self.products = any(probe in self.probes for probe in ("throughput", "clocks", "dispatch"))
        self.ceilings = plan["throughput.ceilings"] and any(probe in self.probes for probe in ("throughput", "dispatch"))

    def product_block(self, shape, recipe, cache):
        seeing = next((other for other in self.recipes if other not in BLIND), recipe)
        return f"gemm/{shape}/{seeing if recipe in BLIND else recipe}/{cache}"

    def block_of(self, cell):
        """The block that the plan has for a row."""
        if cell.work in PRODUCTS and cell.probe in ("fusion", "attention", "power"):
            return f"{cell.probe}/{cell.shape}"
        if cell.work == "placed":
            return f"alignment/{cell.path}/{cell.triple}/{cell.shape}/{cell.tile.rpartition('@')[0]}"
        if cell.work == "version":
            return f"versions/{cell.path}/{cell.triple}"
        if cell.work == "rung":
            return f"ladder/{cell.path}/{cell.triple}"
        if cell.work == "ceiling":
            return f"power/{CEILINGS}" if cell.probe == "power" else CEILINGS
        if cell.work == "meter":
            return METERS
        if cell.work == "gemm":
            return self.product_block(cell.shape, cell.recipe, cell.cache)
        if cell.work == "product":
            return f"order/{cell.path}/{cell.triple}/{cell.shape}"
        return f"{cell.probe}/{cell.path}/{cell.tile}"

    def asks(self, cell):
        offer = (cell.path, cell.triple)
        timed = offer in self.timed
        if cell.work == "rung":
            recipe = cell.recipe in self.plan["types.recipes"]
            return cell.probe == "types" and "types" in self.probes and recipe and offer in self.offers
        here = self.offers.get(offer, "absent") == ""
        if cell.probe == "power":
            axes = cell.shape in self.plan.get("power.shapes", ()) and cell.recipe in self.plan.get("power.recipes", ())
            load = {"gemm": axes and cell.cache == "warm", "ceiling": self.plan.get("power.ceilings"), "meter": True}
            return "power" in self.probes and here and bool(load.get(cell.work))
        if cell.probe == "fusion":
            axes = cell.shape in self.plan.get("fusion.shapes", ()) and cell.recipe in self.plan.get("fusion.recipes", ())
            known = "gelu-" + cell.work.partition("-")[2] in self.plan.get("fusion.activations", ())
            return "fusion" in self.probes and here and axes and known and cell.cache == "warm"
        if cell.probe == "attention":
            axes = (cell.shape in self.plan.get("attention.shapes", ())
                    and cell.recipe in self.plan.get("attention.recipes", ()))
            known = cell.work in PRODUCTS and cell.work.endswith("-attention")
            return "attention" in self.probes and here and axes and known and cell.cache == "warm"
        if cell.work in ("placed", "version"):
            probe = "alignment" if cell.work == "placed" else "versions"
            axes = cell.shape in self.plan.get(f"{probe}.shapes", ()) and cell.recipe in self.plan.get(f"{probe}.recipes", ())
            placed = here and cell.cache == "warm" and cell.tile.rpartition("@")[2] in self.places and "@" in cell.tile
            known = placed if cell.work == "placed" else offer in self.offers
            return cell.probe == probe and probe in self.probes and axes and known
        if cell.work in PRODUCTS and cell.work != "gemm":
            return False
        if cell.work == "gemm":
            axes = cell.shape in self.shapes and cell.recipe in self.recipes and cell.cache in self.caches
            return cell.probe == "throughput" and self.products and axes and timed
        if cell.work == "ceiling":
            return cell.probe == "throughput" and self.ceilings and timed
        if cell.work == "product":
            return cell.probe == "order" and cell.shape in self.orders and self.offers.get(offer) == ""
        if cell.work == "meter":
            return cell.probe == "dispatch" and "dispatch" in self.probes and timed
        return cell.probe in self.probes and takes(self.select, cell.path, cell.triple, cell.tile)

    def stranger(self, cell):
        """Why a row is none that the plan asks for, or not of the block that it names; None for the others."""
        last = 1 if cell.work in ALONE else self.processes
        if cell.seed != self.plan["seed"]:
            return f"seed is {cell.seed}; the plan states {self.plan['seed']}"
        if cell.process >= last:
            return f"process is {cell.process}; the plan asks for {last}, from 0"
        if not self.asks(cell):
            return "it is no row that the plan asks for of what the device offers"
        block = self.block_of(cell)
        named = cell.block[:-1] if cell.block.endswith(LEFT_OUT) else split(cell.block)[0]
        # Only blocks are measured again, or without cells that were left out.
        fits = cell.block == block or cell.work in (*PRODUCTS, "ceiling") and named == block
        return None if fits else f"block is `{cell.block}`; its axes are those of `{block}`"

    def repeated(self, cells):
        """(cell, what is wrong) of names under which blocks were measured again: one a process, the number never falls, and each
        step has its culprit, a cell that was left out because its process died.
        """
        names, culprits, faults = {}, {}, []
        for cell in cells:
            if cell.work not in (*PRODUCTS, "ceiling"):
                continue
            if cell.block.endswith(LEFT_OUT):
                if cell.repetitions is not None:
                    faults.append((cell, f"block is `{cell.block}`, where no cell has repetitions"))
                if cell.outcome in DIED:
                    axes = (cell.probe, cell.work, cell.path, cell.triple, cell.shape, cell.recipe, cell.cache)
                    culprits.setdefault(cell.block[:-1], set()).add(axes)
                continue
            block, times = split(cell.block)
            known = names.setdefault((block, cell.process), (cell, times))[1]
            if known != times:
                what = f"block is `{cell.block}`; other rows of its process stand under number {known}"
                faults.append((cell, what))
        before = {}
        for block, process in sorted(names):
            cell, times = names[block, process]
            known, last = len(culprits.get(block, ())), before.get(block, 0)
            before[block] = times
            if times < last or times > known:
                faults.append((cell, f"block is `{cell.block}` in process {process}, after number {last} and with "
                                     f"{known} cells left out that died"))
        return faults

    def rungs(self, path, triple, absent, beside):
        shapes, recipes = self.plan["types.shapes"], self.plan["types.recipes"]
        if absent:
            return {(shapes[0], recipes[0])}
        return {(shape, recipe) for shape in [*shapes, *beside.get((path, triple), ())] for recipe in recipes}

    def short(self, cells):
        """(rows that are asked for, {block: rows of it that are missing})."""
        there, beside, loops, fused = {}, {}, set(), {"fusion": set(), "attention": set()}
        placed, versions = set(), set()
        for cell in cells:
            chosen = cell.work in (*PRODUCTS, "rung", "product") and cell.work != "placed"
            tile = "" if chosen else cell.tile
            if cell.work == "placed":
                placed.add((cell.path, cell.triple, cell.tile.rpartition("@")[0]))
            if cell.work == "version":
                versions.add((cell.path, cell.triple, cell.tile))
            cache = cell.cache if cell.work in PRODUCTS else ""
            key = (cell.probe, cell.work, cell.path, cell.triple, cell.shape, cell.recipe, cache, tile)
            there.setdefault(key, set()).add(cell.process)
            if cell.work == "rung":
                beside.setdefault((cell.path, cell.triple), set()).add(cell.shape)
            if cell.work == "ceiling":
                loops.add((cell.probe, cell.path, cell.triple, cell.tile))
            if cell.probe in fused:
                fused[cell.probe].add((cell.work, cell.path, cell.triple))
        asked, missing = 0, {}

        def count(block, rows, found):
            nonlocal asked
            asked += rows
            if found < rows:
                missing[block] = missing.get(block, 0) + rows - found

        def found(last, *key):
            return sum(process < last for process in there.get(key, ()))

        for (path, triple), absent in self.offers.items():
            for shape in [] if absent else self.orders:
                count(f"order/{path}/{triple}/{shape}", 1, found(1, "order", "product", path, triple, shape, "", "", ""))
            if "types" in self.probes:
                for shape, recipe in self.rungs(path, triple, absent, beside):
                    count(f"ladder/{path}/{triple}", 1, found(1, "types", "rung", path, triple, shape, recipe, "", ""))
        for path, triple in self.timed if self.products else ():
            for shape in self.shapes:
                for cache in self.caches:
                    for recipe in self.recipes:
                        there_are = found(self.processes, "throughput", "gemm", path, triple, shape, recipe, cache, "")
                        count(self.product_block(shape, recipe, cache), self.processes, there_are)
        for probe, path, triple, tile in loops:
            block = f"power/{CEILINGS}" if probe == "power" else CEILINGS
            count(block, self.processes, found(self.processes, probe, "ceiling", path, triple, "", "", "", tile))
        loads = {("gemm", *offer) for offer, absent in self.offers.items() if not absent}
        for probe, products in (*fused.items(), ("power", loads)):
            for work, path, triple in products if probe in self.probes else ():
                for shape in self.plan.get(f"{probe}.shapes", ()):
                    for recipe in self.plan.get(f"{probe}.recipes", ()):
                        there_are = found(self.processes, probe, work, path, triple, shape, recipe, "warm", "")
                        count(f"{probe}/{shape}", self.processes, there_are)
        axes = {probe: [(shape, recipe) for shape in self.plan.get(f"{probe}.shapes", ())
                        for recipe in self.plan.get(f"{probe}.recipes", ())] if probe in self.probes else []
                for probe in ("alignment", "versions")}
        for path, triple, tile in placed:
            for shape, recipe in axes["alignment"]:
                for place in self.places:
                    key = ("alignment", "placed", path, triple, shape, recipe, "warm", f"{tile}@{place}")
                    count(f"alignment/{path}/{triple}/{shape}/{tile}", self.processes, found(self.processes, *key))
        for path, triple, version in versions:
            for shape, recipe in axes["versions"]:
                key = ("versions", "version", path, triple, shape, recipe, "", version)
                count(f"versions/{path}/{triple}", 1, found(1, *key))
        for question in self.instructions(cells):
            probe, (path, _, _, name), ending, is_there = question
            count(f"{probe}/{path}/{name}{ending}", 1, int(is_there))
        return asked, missing

    def instructions(self, cells):
        """(probe, unit, ending of its name, whether it is there): a unit that one probe asked was asked by all that ask every
        unit; a layout is of units with registers only.
        """
        there, units = set(), set()
        for cell in cells:
            if cell.work not in ("unit", "conversion"):
                continue
            name, ending = cell.tile, ""
            if cell.work == "conversion" and cell.path != CONVERSIONS and name[-2:] in (".a", ".b"):
                name, ending = name[:-2], name[-2:]
            unit = (cell.path, cell.triple, cell.shape, name)
            there.add((cell.probe, unit, ending))
            if cell.path != CONVERSIONS:
                units.add(unit)
        every = (("arithmetic", ""), ("specials", ".a"), ("specials", ".b"))
        asked = {(probe, unit, ending) for unit in units for probe, ending in every if probe in self.probes}
        return [(*question, question in there) for question in asked | there]


def words(asked, missing):
    """What is missing, as the fact `incomplete.rows` tells it."""
    named = ", ".join(f"{block}: {missing[block]}" for block in sorted(missing)[:NAMED])
    more = ", …" if len(missing) > NAMED else ""
    return f"{sum(missing.values())} of {asked} rows that the plan asks for are not here ({named}{more})"
