const QUANTITY = /^(\d{1,15}(?:\.\d{1,9})?|\.\d{1,9})(m|k|M|G|T|Ki|Mi|Gi|Ti|[eE][+-]?\d{1,2})?$/

const FACTORS: ReadonlyMap<string, number> = new Map([
  ['m', 1e-3],
  ['k', 1e3],
  ['M', 1e6],
  ['G', 1e9],
  ['T', 1e12],
  ['Ki', 2 ** 10],
  ['Mi', 2 ** 20],
  ['Gi', 2 ** 30],
  ['Ti', 2 ** 40],
])

/** Parses a Kubernetes quantity such as `64Mi`, `10m` or `0.5`; undefined for any other text. */
export function parseQuantity(text: string): number | undefined {
  const match = QUANTITY.exec(text)
  if (match === null) return undefined
  const unit = match[2] ?? ''
  const factor = unit === '' ? 1 : (FACTORS.get(unit) ?? Number(`1${unit}`))
  return Number(match[1]) * factor
}
