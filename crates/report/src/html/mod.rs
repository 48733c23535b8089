//! One HTML page with text, charts and tables, and nothing loaded from elsewhere.

mod page;
mod section;
mod tables;

pub use page::Page;
pub use section::Section;
