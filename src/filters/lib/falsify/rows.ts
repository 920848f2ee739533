import { sameJson } from '../../../base/values.ts'
import { type TextEdit, editEntries } from '../../../base/json/json-edit.ts'
import { type JsonArray, effectiveMembers, valueOf } from '../../../base/json/json-node.ts'
import { intBetween } from '../../../base/seeded-random.ts'
import { type Decimal, isSame, readDecimal, withDecimals } from './decimals.ts'
import { type Leaf, type ResultView, rawOf } from './result-view.ts'
import { numberSwap } from './swap.ts'

export type RowKind = 'omit' | 'duplicate' | 'order'

const COUNT = /count|total|length|size|num|items|results|hits/i

/**
 * Leaves out, repeats or moves a row of a list, in all copies of the list. Counts and totals beside
 * the list follow. No edits where a text may say in words what the list says.
 */
export function rowEdits(
  view: ResultView,
  leaf: Leaf,
  kind: RowKind,
  random: () => number,
): readonly TextEdit[] {
  const { node } = leaf
  const isShort = node.kind !== 'array' || node.items.length < (kind === 'duplicate' ? 1 : 2)
  if (isShort || view.prose.length > 0) return []
  const at = intBetween(random, 0, node.items.length - 1)
  return copiesOf(view, leaf).flatMap((copy) => {
    const beside = kind === 'order' ? [] : besides(copy, at, kind === 'omit' ? -1n : 1n)
    const edits = [...inList(copy, kind, at), ...beside]
    return copy.part.outer(edits.toSorted((a, b) => a.start - b.start || a.end - b.end))
  })
}

/** Returns the list in all parts; none where a part has no equal list, or several. */
function copiesOf({ parts }: ResultView, leaf: Leaf): readonly Leaf[] {
  const list: unknown = JSON.parse(rawOf(leaf))
  const copies = parts.flatMap(({ leaves }) => {
    if (leaves.includes(leaf)) return [leaf]
    const equal = leaves.filter(
      (each) => each.node.kind === 'array' && sameJson(JSON.parse(rawOf(each)), list),
    )
    const exact = equal.filter((each) => sameJson(each.keys, leaf.keys))
    return [exact, equal].find(({ length }) => length === 1) ?? []
  })
  return copies.length === parts.length ? copies : []
}

function inList(copy: Leaf, kind: RowKind, at: number): readonly TextEdit[] {
  const list = copy.node as JsonArray
  const raw = (index: number): string => rawOf({ node: list.items[index]!, part: copy.part })
  if (kind === 'omit') return editEntries(list, { removes: (index) => index === at })
  if (kind === 'duplicate') {
    return editEntries(list, { follows: (index) => (index === at ? [raw(at)] : []) })
  }
  const row: unknown = JSON.parse(raw(at))
  const other = list.items.findLastIndex((_, index) => !sameJson(JSON.parse(raw(index)), row))
  if (other < 0) return []
  return [
    { ...list.items[at]!, text: raw(other) },
    { ...list.items[other]!, text: raw(at) },
  ]
}

/** Returns the edits of the counts and totals beside a list, when it gets or loses one row. */
function besides({ node, part, parent }: Leaf, at: number, sign: bigint): readonly TextEdit[] {
  const { items } = node as JsonArray
  const numberAt = (value: Leaf['node'] | undefined): Decimal | undefined =>
    value?.kind === 'number' && value.value >= 0
      ? readDecimal(rawOf({ node: value, part }))
      : undefined
  const row = items[at]!
  const fields = row.kind === 'object' ? effectiveMembers(row).map(({ key }) => key) : []
  const members = parent?.kind === 'object' ? effectiveMembers(parent) : []
  return members.flatMap(({ key, value }) => {
    const from = numberAt(value)
    if (from === undefined) return []
    const isCount = COUNT.test(key) && isSame(from, { units: BigInt(items.length), decimals: 0 })
    const summed = fields.find((field) => {
      const all = items.map((item) => numberAt(valueOf(item, field)))
      return all.every((each) => each !== undefined) && isSame(from, sumOf(all))
    })
    const one = isCount ? { units: 1n, decimals: 0 } : summed && numberAt(valueOf(row, summed))
    if (!one) return []
    const to = { ...from, units: from.units + sign * withDecimals(one, from.decimals).units }
    const json = numberSwap(from, to).json(value, rawOf({ node: value, part }))
    return [{ start: value.start, end: value.end, text: json! }]
  })
}

function sumOf(numbers: readonly Decimal[]): Decimal {
  const decimals = Math.max(...numbers.map((each) => each.decimals))
  const units = numbers.map((each) => withDecimals(each, decimals).units)
  return { decimals, units: units.reduce((sum, each) => sum + each, 0n) }
}
