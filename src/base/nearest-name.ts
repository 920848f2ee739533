/** Returns the known name closest to a misspelt one; undefined when none is close. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const wanted = plainName(name)
  if (wanted === '' || wanted.length > 60) return undefined
  const limit = wanted.length <= 3 ? 1 : wanted.length <= 6 ? 2 : 3
  let nearest: string | undefined
  let least = limit + 1
  for (const each of known) {
    const candidate = plainName(each)
    // Words that share only a letter or two are unrelated.
    const distance = editDistance(wanted, candidate)
    if (distance >= least || distance > candidate.length / 2) continue
    least = distance
    nearest = each
  }
  return nearest
}

/** Normalizes a name: `max_active` and `max-active` are misspellings of `maxActive` alone. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[_\s-]/g, '')
}

/** Counts the letters to insert, delete, replace or transpose between two names. */
export function editDistance(a: string, b: string): number {
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(previous[j]! + 1, current[j - 1]! + 1, previous[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, before[j - 2]! + 1)
      }
      current.push(cost)
    }
    before = previous
    previous = current
  }
  return previous[b.length]!
}
