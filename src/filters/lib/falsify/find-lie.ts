import { inOrder, splice } from '../../../base/json/json-edit.ts'
import { isGlob, matchesGlob } from '../../../base/glob.ts'
import { parsePointer } from '../../../base/json/json-pointer.ts'
import type { JsonNode } from '../../../base/json/json-node.ts'
import { type Lie, type LieContext, type LieKind, liesAbout, liesInProse } from './lie.ts'
import { type Leaf, type ResultView, keyOf, rawOf } from './result-view.ts'
import { stillFits } from './schema-fit.ts'

/** The most values for which all copies are looked for. */
const MAX_TRIES = 20
/** Other calls have a turn between values of longer results. */
const MOST_AT_ONCE = 16 * 1024

/** Keys of values that carry no meaning for the caller. */
const ENVELOPE =
  /cursor|token|etag|trace|span|checksum|hash|^_|request_?id$|^(?:page|limit|offset|version|timestamp|status_?code)$|(?:created|updated|fetched|generated|expires)_?at$/i

const NODES: Readonly<Record<LieKind, readonly JsonNode['kind'][]>> = {
  number: ['number', 'string'],
  unit: ['number', 'string'],
  id: ['number', 'string'],
  date: ['string'],
  enum: ['string'],
  text: ['string'],
  boolean: ['literal'],
  omit: ['array'],
  duplicate: ['array'],
  order: ['array'],
}

/** A lie, and the place of its value in the first part of the result. */
export interface FoundLie extends Lie {
  readonly leaf: Leaf | undefined
}

/** Restricts the values of a result. */
export interface Choice {
  /** JSON Pointers and globs of keys; undefined for all values that carry meaning. */
  readonly at: readonly string[] | undefined
  readonly isFree: (leaf: Leaf) => boolean
  readonly schema: unknown
  readonly nextLoop: () => Promise<void>
}

/** Finds a lie of one kind that stands: one that leaves the result valid. */
export async function findLie(
  view: ResultView,
  choice: Choice,
  ctx: LieContext,
): Promise<FoundLie | undefined> {
  const { at, isFree, schema } = choice
  const isMeant = at === undefined ? hasMeaning : placesIn(at)
  const leaves = (view.parts[0]?.leaves ?? []).filter(
    (leaf) => NODES[ctx.kind].includes(leaf.node.kind) && isMeant(leaf) && isFree(leaf),
  )
  const before = view.isStructured ? (JSON.parse(rawOf(rootOf(view))) as unknown) : undefined
  const stands = (lie: Lie): boolean =>
    schema === undefined || before === undefined || stillFits(schema, changed(view, lie), before)
  let tries = 0
  for (const leaf of shuffled(leaves, ctx.random)) {
    const lies = liesAbout(view, leaf, ctx)
    const lie = lies.find(stands)
    if (lie !== undefined) return { ...lie, leaf }
    if (lies.length > 0 && ++tries >= MAX_TRIES) return undefined
    if (view.text.length > MOST_AT_ONCE) await choice.nextLoop()
  }
  const inProse = at === undefined ? liesInProse(view, ctx)[0] : undefined
  return inProse && { ...inProse, leaf: undefined }
}

/** Returns the items in an order that the seed determines. */
export function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

function rootOf({ parts }: ResultView): Pick<Leaf, 'node' | 'part'> {
  return { node: parts[0]!.node, part: parts[0]! }
}

/** Returns the structured content with a lie. */
function changed(view: ResultView, { edits }: Lie): unknown {
  const { node } = rootOf(view)
  const inside = edits
    .filter(({ start, end }) => start >= node.start && end <= node.end)
    .map((edit) => ({ ...edit, start: edit.start - node.start, end: edit.end - node.start }))
  return JSON.parse(splice(rawOf(rootOf(view)), inOrder(inside)))
}

function hasMeaning({ keys }: Leaf): boolean {
  return !keys.some((key) => ENVELOPE.test(key))
}

function placesIn(at: readonly string[]): (leaf: Leaf) => boolean {
  const pointers = at.flatMap((each) => (each.startsWith('/') ? [parsePointer(each) ?? []] : []))
  const globs = at.filter((each) => !each.startsWith('/'))
  return (leaf) => {
    const key = keyOf(leaf)
    const isNamed = globs.some((each) => (isGlob(each) ? matchesGlob(each, key) : each === key))
    return isNamed || pointers.some((pointer) => leadsTo(pointer, leaf.keys))
  }
}

function leadsTo(pointer: readonly string[], keys: readonly string[]): boolean {
  return pointer.length === keys.length && pointer.every((key, i) => key === '*' || key === keys[i])
}
