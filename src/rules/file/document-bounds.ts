import { isAlias, isMap, isNode, isPair, isScalar, isSeq, type Alias, type Document } from 'yaml'
import { quoted } from '../../base/text/foreign-text.ts'
import type { ProblemCode } from './problem.ts'

/** Limits the nesting of values. */
export const MAX_DEPTH = 50
/** Limits the values of a file, with aliases expanded. */
export const MAX_VALUES = 300_000

export const MAX_ITEMS = 5000
export const MAX_KEYS = 1000

/** Measurements of a document before it is read. */
export interface Measured {
  readonly targets: ReadonlyMap<Alias, unknown>
  /** The number of its values, unless it exceeds a bound. */
  readonly values: number
  readonly exceeded: ExceededError | undefined
}

interface Extent {
  readonly values: number
  readonly depth: number
}

const ONE: Extent = { values: 1, depth: 1 }

/**
 * Measures a document with its aliases expanded, without expanding them: the values of an anchor
 * are counted once and added for each alias.
 */
export function measureDocument(document: Document.Parsed): Measured {
  const measure = new Measure()
  try {
    const { values } = measure.extent(document.contents, 1)
    return { targets: measure.targets, values, exceeded: undefined }
  } catch (error) {
    if (!(error instanceof ExceededError)) throw error
    return { targets: measure.targets, values: 0, exceeded: error }
  }
}

/** Reports a bound that a document exceeds, with its position. */
class ExceededError extends Error {
  readonly code: ProblemCode
  readonly offset: number
  readonly hint: string | undefined

  constructor(code: ProblemCode, message: string, node: unknown, hint?: string) {
    super(message)
    this.code = code
    this.offset = (isNode(node) ? node.range?.[0] : undefined) ?? 0
    this.hint = hint
  }
}

class Measure {
  readonly targets = new Map<Alias, unknown>()
  readonly #anchors = new Map<string, unknown>()
  readonly #extents = new Map<unknown, Extent | 'open'>()

  extent(node: unknown, level: number): Extent {
    if (level > MAX_DEPTH) throw new ExceededError('too_deep', 'nested too deeply', node)
    if (isAlias(node)) return this.#aliased(node, level)
    if (isScalar(node) || isMap(node) || isSeq(node)) {
      if (node.anchor !== undefined) this.#anchors.set(node.anchor, node)
    }
    if (!isMap(node) && !isSeq(node)) return ONE
    const most = isMap(node) ? MAX_KEYS : MAX_ITEMS
    if (node.items.length > most) {
      const message = `has ${node.items.length} entries; at most ${most} are allowed`
      throw new ExceededError('too_many', message, node)
    }
    this.#extents.set(node, 'open')
    let values = 1
    let depth = 1
    for (const item of node.items) {
      if (isPair(item)) this.extent(item.key, level)
      const member = isPair(item) ? item.value : item
      const inner = this.extent(member, level + 1)
      values += inner.values
      depth = Math.max(depth, inner.depth + 1)
      if (values > MAX_VALUES) {
        throw new ExceededError('too_many', `has more than ${MAX_VALUES} values`, member)
      }
    }
    const found: Extent = { values, depth }
    this.#extents.set(node, found)
    return found
  }

  #aliased(alias: Alias, level: number): Extent {
    // An anchor may be redefined: the last definition above an alias counts.
    const target = this.#anchors.get(alias.source)
    if (target === undefined) {
      const hint = `quote a string that begins with \`*\`: ${quoted(`*${alias.source}`)}`
      throw new ExceededError('syntax', 'unknown alias: no such anchor above', alias, hint)
    }
    this.targets.set(alias, target)
    const extent = this.#extents.get(target) ?? ONE
    if (extent === 'open') {
      throw new ExceededError('syntax', 'this alias refers to a value that contains it', alias)
    }
    if (level + extent.depth - 1 > MAX_DEPTH) {
      throw new ExceededError('too_deep', 'nested too deeply', alias)
    }
    return extent
  }
}
