//! Is the product that a kernel gives the product of the very bytes that it took?

use rigel_device::metal::element::Element;
use rigel_device::metal::gemm::MetalGemm;
use rigel_device::metal::gpu::Gpu;
use rigel_device::metal::product::{Product, triple_of};
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::text::Source;
use rigel_device::metal::triples::Types;
use rigel_device::{Cache, Gemm};
use rigel_numerics::bound::tolerance;
use rigel_numerics::reference::reference;
use rigel_numerics::{Matrix, Operand, Recipe, Shape};
use std::cell::RefCell;
use std::rc::Rc;

/// A simulated device that several products share.
pub type Shared = Rc<RefCell<Simulated>>;

/// A recipe that both operands can have and whose sums stay inside the destination's range.
fn recipe(types: Types, k: usize) -> Recipe {
    let [a, b] = [types.left, types.right].map(Element::format);
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
    let Shape { m, n, k } = product.shape;
    let recipe = recipe(types, k);
    let a = recipe.matrix(types.left.format(), 11, Operand::A, m, k);
    let b = recipe.matrix(types.right.format(), 11, Operand::B, k, n);
    let triple = triple_of(types);
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
    let reference = reference(triple, &a, &b).unwrap();
    let compared = reference.compare(&c, tolerance(triple, k, recipe)).unwrap();
    (compared.outside > 0).then(|| format!("{name}{compared:?}"))
}
