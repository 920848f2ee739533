/** A metric in a query, with the labels by which it is picked. */
export interface Selector {
  readonly metric: string
  readonly labels: readonly { readonly name: string; readonly value: string }[]
}

/** The names in a query. */
export interface Names {
  readonly selectors: readonly Selector[]
  /** Labels that it groups or joins by. */
  readonly grouping: readonly string[]
}

const WORDS = new Set(
  'and or unless by without on ignoring group_left group_right offset bool inf nan'.split(' '),
)
const LISTS = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)/g
const LABEL = /([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"/g
const METRIC = /(?<![\w.])([a-zA-Z_:][\w:]*)\s*(\(|\{([^{}]*)\})?/g

/**
 * Finds the metrics and labels of a query. Enough of the language for queries without braces in
 * texts.
 */
export function namesIn(query: string): Names {
  const grouping = [...query.matchAll(LISTS)].flatMap(([, list = '']) =>
    list.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()])),
  )
  const bare = query.replaceAll(LISTS, ' ').replaceAll(/\[[^\]]*\]|\boffset \w+/g, ' ')
  const selectors: Selector[] = []
  for (const [, metric = '', after, inner = ''] of bare.matchAll(METRIC)) {
    if (after === '(' || WORDS.has(metric.toLowerCase())) continue
    const labels = [...inner.matchAll(LABEL)].map(([, name = '', value = '']) => ({ name, value }))
    if (inner.replaceAll(LABEL, '').replaceAll(/[\s,]/g, '') !== '') {
      throw new Error(`cannot read the labels of ${metric}{${inner}}`)
    }
    selectors.push({ metric, labels })
  }
  return { selectors, grouping }
}
