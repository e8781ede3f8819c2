/** One axis for lines that were sampled at times of their own: values are taken between neighbours. */
export function resample(x: number[], y: (number | null)[], at: number[]): (number | null)[] {
  let k = 0;
  return at.map((t) => {
    while (k + 1 < x.length && (x[k + 1] as number) <= t) k++;
    const [a, b] = [x[k], x[k + 1]];
    const [low, high] = [y[k] ?? null, y[k + 1] ?? null];
    if (a === undefined || t < a) return null;
    if (b === undefined) return t <= a * 1.0001 ? low : null;
    if (low === null || high === null) return low;
    return low + ((high - low) * (t - a)) / (b - a);
  });
}
