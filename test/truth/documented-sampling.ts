/** Samples as docs/concepts/sampling.md documents; shares no code with the code under test. */
export function documentedDraw(...fields: readonly string[]): number {
  let a = 0x243f6a88
  let b = 0x13198a2e
  for (const field of fields) {
    const words = [...Array(field.length).keys()].map((index) => field.charCodeAt(index))
    for (const word of [...words, 0x10000]) {
      a = Math.imul(a ^ word, 0x9e3779b1)
      b = Math.imul(b ^ word, 0x85ebca77)
      a ^= b >>> 15
      b ^= a >>> 13
    }
  }
  a = scatter(a + b)
  b = scatter(b + a)
  a += b
  return ((a >>> 5) * 2 ** 26 + (b >>> 6)) / 2 ** 53
}

/** The arguments of a call as a sampling key: their keys in order, and no blanks. */
export function argumentsKey(args: Readonly<Record<string, unknown>>): string {
  const keys = Object.keys(args).toSorted()
  return JSON.stringify(Object.fromEntries(keys.map((key) => [key, args[key]])))
}

function scatter(value: number): number {
  let x = value
  x ^= x >>> 16
  x = Math.imul(x, 0x7feb352d)
  x ^= x >>> 15
  x = Math.imul(x, 0x846ca68b)
  return x ^ (x >>> 16)
}
