//! Products of matrices.

/// Columns that are computed at once: two registers of four floats, one of eight with AVX.
const COLUMNS: usize = 8;
/// Rows that are computed at once: as many as there are registers for. Not as many as columns, for then
/// compilers do not see which of the two should lie in a register, and shuffle more than they compute.
pub(super) const ROWS: usize = 6;

/// The left side of a product, by rows or by columns.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    inner: usize,
    strides: (usize, usize),
}

impl<'a> Matrix<'a> {
    /// `data` holds row after row of `inner` numbers.
    pub(crate) fn new(data: &'a [f32], inner: usize) -> Self {
        Self { data, rows: data.len() / inner, inner, strides: (inner, 1) }
    }

    /// The transpose of what `data` holds: row after row of `rows` numbers.
    pub(crate) fn transposed(data: &'a [f32], rows: usize) -> Self {
        Self { data, rows, inner: data.len() / rows, strides: (1, rows) }
    }
}

/// Adds `a` times `b` to `c`; `b` and `c` hold row after row of `columns` numbers.
///
/// Every element of the product is summed up in the order of the inner index, whatever the sizes
/// of blocks, so the result does not depend on the machine.
pub(crate) fn add_product(c: &mut [f32], a: Matrix<'_>, b: &[f32], columns: usize) {
    assert_eq!((c.len(), b.len()), (a.rows * columns, a.inner * columns), "shapes fit");
    let mut panel = vec![0.0; a.inner * ROWS];
    for (block, c) in c.chunks_mut(ROWS * columns).enumerate() {
        let rows = c.len() / columns;
        let first = block * ROWS;
        for (at, panel) in panel.chunks_exact_mut(ROWS).enumerate() {
            let from = first * a.strides.0 + at * a.strides.1;
            for (row, to) in panel[..rows].iter_mut().enumerate() {
                *to = a.data[from + row * a.strides.0];
            }
            panel[rows..].fill(0.0);
        }
        let whole = columns / COLUMNS * COLUMNS;
        for column in (0..whole).step_by(COLUMNS) {
            let tile = tile(&panel, b, columns, column);
            for (row, tile) in c.chunks_exact_mut(columns).zip(tile) {
                let row = &mut row[column..column + COLUMNS];
                row.iter_mut().zip(tile).for_each(|(c, sum)| *c += sum);
            }
        }
        for column in whole..columns {
            for (row, c) in c.chunks_exact_mut(columns).enumerate() {
                let mut sum = 0.0;
                for at in 0..a.inner {
                    sum += panel[at * ROWS + row] * b[at * columns + column];
                }
                c[column] += sum;
            }
        }
    }
}

/// `ROWS` × `COLUMNS` elements of a product, kept in registers while the inner index runs.
#[inline(never)] // Merged into its caller, it runs out of registers.
fn tile(panel: &[f32], b: &[f32], columns: usize, column: usize) -> [[f32; COLUMNS]; ROWS] {
    let mut sums = [[0.0f32; COLUMNS]; ROWS];
    let (panel, _) = panel.as_chunks::<ROWS>();
    for (a, b) in panel.iter().zip(b.chunks_exact(columns)) {
        let b: &[f32; COLUMNS] = b[column..column + COLUMNS].try_into().expect("a whole tile");
        for row in 0..ROWS {
            for at in 0..COLUMNS {
                sums[row][at] += a[row] * b[at];
            }
        }
    }
    sums
}

/// Rows become columns.
pub(crate) fn transpose(data: &[f32], columns: usize) -> Vec<f32> {
    let rows = data.len() / columns;
    let mut turned = vec![0.0; data.len()];
    for (row, values) in data.chunks_exact(columns).enumerate() {
        for (column, value) in values.iter().enumerate() {
            turned[column * rows + row] = *value;
        }
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 37 + seed * 11) % 23) as f32 / 7.0 - 1.5).collect()
    }

    #[test]
    fn equals_the_sum_written_out() {
        for (rows, inner, columns) in [(1, 1, 1), (5, 3, 9), (4, 8, 8), (13, 17, 21), (9, 2, 16)] {
            let (a, b) = (numbers(rows * inner, 1), numbers(inner * columns, 2));
            let mut expected = numbers(rows * columns, 3);
            let (mut plain, mut turned) = (expected.clone(), expected.clone());
            for i in 0..rows {
                for j in 0..columns {
                    let mut sum = 0.0;
                    for k in 0..inner {
                        sum += a[i * inner + k] * b[k * columns + j];
                    }
                    expected[i * columns + j] += sum;
                }
            }
            add_product(&mut plain, Matrix::new(&a, inner), &b, columns);
            assert_eq!(plain, expected, "{rows} {inner} {columns}");
            let a = transpose(&a, inner);
            add_product(&mut turned, Matrix::transposed(&a, rows), &b, columns);
            assert_eq!(turned, expected, "{rows} {inner} {columns}");
        }
    }
}
