import { sameJson } from '../../../base/json/canonical-json.ts'
import { type TextEdit, editEntries } from '../../../base/json/json-edit.ts'
import {
  type JsonArray,
  type JsonMember,
  type JsonNode,
  effectiveMembers,
  valueOf,
} from '../../../base/json/json-node.ts'
import { intBetween } from '../../../base/seeded-random.ts'
import type { FalseValue } from '../../fault.ts'
import { type Decimal, isSame, readDecimal, withDecimals, writeDecimal } from './decimals.ts'
import { type Leaf, type ResultView, rawOf } from './result-view.ts'
import { numberSwap } from './swap.ts'

type RowKind = 'omit' | 'duplicate' | 'order'

const COUNT = /count|total|length|size|num|items|results|hits/i

/**
 * Leaves out, repeats or moves a row of a list, in all copies of the list. Counts and totals beside
 * the list follow. Undefined where a text may say in words what the list says.
 */
export function rowLie(
  view: ResultView,
  leaf: Leaf,
  kind: RowKind,
  random: () => number,
): { readonly edits: readonly TextEdit[]; readonly values: readonly FalseValue[] } | undefined {
  const { node } = leaf
  const isLong = node.kind === 'array' && node.items.length > (kind === 'duplicate' ? 0 : 1)
  const copies = isLong && view.prose.length === 0 ? copiesOf(view, leaf) : []
  const at = isLong ? intBetween(random, 0, node.items.length - 1) : 0
  const values: FalseValue[] = []
  const edits: TextEdit[] = []
  for (const copy of copies) {
    const inPart = [...rowEdits(copy, kind, at)]
    if (inPart.length === 0) return undefined
    if (kind !== 'order') {
      for (const { member, to, from } of besides(copy, kind, at)) {
        const { start, end } = member.value
        inPart.push({ start, end, text: writeDecimal(to) })
        values.push(...[numberSwap(from, to).value ?? []].flat())
      }
    }
    edits.push(...copy.part.outer(inPart.toSorted((a, b) => a.start - b.start || a.end - b.end)))
  }
  return edits.length === 0 ? undefined : { edits, values: values.slice(0, 1) }
}

/** Returns the list in all parts; none where a part has no equal list. */
function copiesOf({ parts }: ResultView, leaf: Leaf): readonly Leaf[] {
  const list: unknown = JSON.parse(rawOf(leaf))
  const copies = parts.map(({ leaves }) => {
    if (leaves.includes(leaf)) return leaf
    const equal = leaves.filter(
      (each) => each.node.kind === 'array' && sameJson(JSON.parse(rawOf(each)), list),
    )
    const exact = equal.find((each) => sameJson(each.keys, leaf.keys))
    return exact ?? (equal.length === 1 ? equal[0] : undefined)
  })
  return copies.includes(undefined) ? [] : copies.filter((each) => each !== undefined)
}

function rowEdits(copy: Leaf, kind: RowKind, at: number): readonly TextEdit[] {
  const list = copy.node as JsonArray
  const raw = (index: number): string => rawOf({ node: list.items[index]!, part: copy.part })
  if (kind === 'omit') return editEntries(list, { removes: (index) => index === at })
  if (kind === 'duplicate') {
    return editEntries(list, { follows: (index) => (index === at ? [raw(at)] : []) })
  }
  const row: unknown = JSON.parse(raw(at))
  const other = list.items.findLastIndex((_, index) => !sameJson(JSON.parse(raw(index)), row))
  if (other < 0) return []
  return [at, other].map((index, i) => {
    const { start, end } = list.items[index]!
    return { start, end, text: raw(i === 0 ? other : at) }
  })
}

interface Beside {
  readonly member: JsonMember
  readonly from: Decimal
  readonly to: Decimal
}

/** Returns the counts and totals beside a list, and what they come to without or with one row. */
function besides(copy: Leaf, kind: RowKind, at: number): readonly Beside[] {
  const { node, part, parent } = copy
  const { items } = node as JsonArray
  if (parent?.kind !== 'object') return []
  const numberAt = (each: JsonNode | undefined): Decimal | undefined =>
    each?.kind === 'number' ? readDecimal(rawOf({ node: each, part })) : undefined
  const sign = kind === 'omit' ? -1n : 1n
  return effectiveMembers(parent).flatMap((member) => {
    const from = numberAt(member.value)
    if (from === undefined || rawOf({ node: member.value, part }).startsWith('-')) return []
    const changed = (by: Decimal): readonly Beside[] => {
      const { units } = withDecimals(by, from.decimals)
      return [{ member, from, to: { ...from, units: from.units + sign * units } }]
    }
    const one = { units: 1n, decimals: 0 }
    const length = { units: BigInt(items.length), decimals: 0 }
    if (COUNT.test(member.key) && isSame(from, length)) return changed(one)
    const row = items[at]!
    const fields = row.kind === 'object' ? effectiveMembers(row).map(({ key }) => key) : []
    const summed = fields.find((key) => {
      const all = items.map((item) => numberAt(valueOf(item, key)))
      return !all.includes(undefined) && isSame(from, sumOf(all as readonly Decimal[]))
    })
    return summed === undefined ? [] : changed(numberAt(valueOf(row, summed))!)
  })
}

function sumOf(numbers: readonly Decimal[]): Decimal {
  const decimals = Math.max(...numbers.map((each) => each.decimals))
  return numbers.reduce(
    (sum, each) => ({ decimals, units: sum.units + withDecimals(each, decimals).units }),
    { units: 0n, decimals },
  )
}
