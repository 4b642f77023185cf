//! Is the product that a kernel gives the product of the very bytes that it took?

use rigel_device::metal::element::Element;
use rigel_device::metal::gemm::MetalGemm;
use rigel_device::metal::gpu::Gpu;
use rigel_device::metal::product::Product;
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::text::Source;
use rigel_device::metal::triples::Types;
use rigel_device::{Cache, Gemm};
use rigel_numerics::bound::tolerance;
use rigel_numerics::reference::reference;
use rigel_numerics::{Format, Matrix, Operand, Overflow, Recipe, Rounding, Shape, Triple};
use std::cell::RefCell;
use std::rc::Rc;

/// A simulated device that several products share.
pub type Shared = Rc<RefCell<Simulated>>;

/// An operand in its own codes, and the same values in a format in which the reference can meet the other operand.
pub fn operand(
    element: Element,
    recipe: Recipe,
    among_floats: bool,
    which: Operand,
    rows: usize,
    cols: usize,
) -> (Matrix, Matrix) {
    // Unsigned 2-bit integers are no format of the study: their codes are drawn as signed ones and read as they are.
    let format = element.format().unwrap_or(Format::I2);
    let own = recipe.matrix(format, 11, which, rows, cols);
    let value = |r, c| if element == Element::Uint2 { own.get(r, c) as f64 } else { own.value(r, c) };
    let wide = match (element.is_integer(), among_floats) {
        (true, true) => Format::F32,
        (true, false) if element == Element::Uint2 => Format::U8,
        _ => return (own.clone(), own),
    };
    let mut read = Matrix::zeroed(wide, rows, cols);
    for r in 0..rows {
        for c in 0..cols {
            let code = if wide == Format::U8 {
                value(r, c) as u64
            } else {
                wide.encode(value(r, c), Rounding::NearestEven, Overflow::Ieee)
            };
            read.set(r, c, code);
        }
    }
    (own, read)
}

/// A recipe that both operands can have and whose sums stay inside the destination's range.
fn recipe(types: Types, k: usize) -> Recipe {
    let [a, b] = [types.left, types.right].map(|e| e.format().unwrap_or(Format::I2));
    let most = if types.dest == Element::Half { 6e4 } else { f64::from(f32::MAX) };
    let fits = |r: &Recipe| {
        let supported = [a, b].iter().all(|f| r.supports(*f).is_ok());
        supported && r.max_magnitude(a) * r.max_magnitude(b) * k as f64 <= most
    };
    [Recipe::Uniform, Recipe::NearNormal, Recipe::SmallIntegers].into_iter().find(fits).expect("a recipe")
}

/// Texts of products, for compiling them together.
pub fn sources(products: &[Product], gpu: &Shared) -> Vec<Source> {
    let language = gpu.borrow().sdk().unwrap().language();
    let mut texts: Vec<Source> = products.iter().map(|p| p.kernel().unwrap().0.source(language)).collect();
    texts.sort_by(|a, b| a.text.cmp(&b.text));
    texts.dedup();
    texts
}

/// Runs a product and compares it with the reference; `None` when it is right.
pub fn wrong(gpu: &Shared, product: Product) -> Option<String> {
    let types = product.operation.types;
    let among_floats = !types.dest.is_integer();
    let Shape { m, n, k } = product.shape;
    let recipe = recipe(types, k);
    let (a, a_read) = operand(types.left, recipe, among_floats, Operand::A, m, k);
    let (b, b_read) = operand(types.right, recipe, among_floats, Operand::B, k, n);
    let triple = Triple::new(a_read.format, b_read.format, types.dest.format().unwrap());
    let run = || -> Result<Matrix, String> {
        let (kernel, entry) = product.kernel()?;
        let language = gpu.borrow().sdk().unwrap().language();
        let library = gpu.borrow_mut().compile(&kernel.source(language)).map_err(|e| e.to_string())?;
        let mut gemm = MetalGemm::new(Rc::clone(gpu), product, triple, library, entry);
        gemm.load().map_err(|e| e.to_string())?;
        gemm.bind(&a, &b).map_err(|e| e.to_string())?;
        gemm.run(1, Cache::Warm).map_err(|e| e.to_string())?;
        gemm.poison().map_err(|e| e.to_string())?;
        gemm.run(1, Cache::Cold).map_err(|e| e.to_string())?;
        gemm.output().map_err(|e| e.to_string())
    };
    let name = format!("{:?} {} {} {:?}: ", product.path, product.operation, product.shape, types);
    let c = match run() {
        Ok(c) => c,
        Err(words) => return Some(name + &words),
    };
    let reference = reference(triple, &a_read, &b_read).unwrap();
    let compared = reference.compare(&c, tolerance(triple, k, recipe)).unwrap();
    (compared.outside > 0).then(|| format!("{name}{compared:?}"))
}
