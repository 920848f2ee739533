import { codeTexts } from './code-texts.ts'

/** A text that is read as one: a paragraph, a cell, a message, a comment, or a whole source. */
export interface Passage {
  readonly kind: 'prose' | 'description' | 'code'
  /** The line on which it begins, from 1. */
  readonly line: number
  readonly text: string
}

const CODE = /\.(?:ts|[cm]?js)$/
/** Copies of texts that are checked where they are written. */
const COPIES =
  /^deploy\/(?:chart\/files\/.*(?:json|ya?ml)|grafana\/.*|manifests\/install\.yaml|[a-z]+\.schema\.json)$/
const FROM_CODE = '<!-- Generated from the code'
const NOT_PROSE = /^(?:bench|\.github)\/|^deploy\/prometheus\/tests\/|^package\.json$/

/** Returns the passages of a file; none for copies of others. */
export function passagesOf(path: string, source: string): readonly Passage[] {
  if (NOT_PROSE.test(path) || COPIES.test(path) || source.startsWith(FROM_CODE)) return []
  if (CODE.test(path)) return codePassages(source)
  const text = path.endsWith('.html')
    ? source.replace(/<[^>]*>/g, (tag) => tag.replace(/[^\n]/g, ' '))
    : source
  const passages = linePassages(text, path.endsWith('.md'))
  // Comments of the values are their descriptions in the README of the chart.
  if (path !== 'deploy/chart/values.yaml') return passages
  return passages.map((each) => ({ ...each, kind: each.isComment ? 'description' : 'prose' }))
}

function codePassages(source: string): readonly Passage[] {
  const hasSchema = /from '(?:typebox|[./\w-]*\/(?:config-schema|schema-parts)\.ts)'/.test(source)
  let line = 1
  let counted = 0
  const passages: Passage[] = [{ kind: 'code', line, text: source }]
  for (const { kind, at, text } of codeTexts(source)) {
    const isDescription = kind === 'string' && hasSchema && describes(source, at, text)
    if (!isDescription && !/\w\S*\s+\S*\w/.test(text)) continue
    for (; counted < at; counted++) if (source[counted] === '\n') line++
    passages.push({ kind: isDescription ? 'description' : 'prose', line, text })
  }
  return passages
}

/** The key, but not that of a tool, which has a name or title, or a function that takes one. */
const KEY = /(?<!\b(?:name|title): '[^'\n]*',\s*)\bdescription:\s*$/
const PARAMETER =
  /\b(?:text|texts|nullableText|time|word|flag|count|nullableNumber|seconds|list)\((?:(?:[^;{}()]|\([^()]*\))*,)?\s*$/

function describes(source: string, at: number, text: string): boolean {
  const before = source.slice(Math.max(0, at - 160), at)
  return KEY.test(before) || (text.endsWith('.') && PARAMETER.test(before))
}

/** A line that continues no other one: a heading, an item, a row, a key or an action of Helm. */
const START = /^\s*(?:#+ |[-*|>]|\d+\. |\{\{|[\w./$"'-]+:(?:\s|$)|$)/

/** Returns paragraphs, cells and comments; without blocks of code. */
function linePassages(
  text: string,
  isMarkdown: boolean,
): readonly (Passage & { readonly isComment: boolean })[] {
  const passages: { kind: 'prose'; line: number; text: string; isComment: boolean }[] = []
  let isInBlock = false
  let isOpen = false
  for (const [index, whole] of text.split('\n').entries()) {
    const isFence = isMarkdown && /^ *```/.test(whole)
    if (isFence) isInBlock = !isInBlock
    const [sign = ''] = (!isMarkdown && /^\s*#+ ?/.exec(whole)) || []
    const isComment = sign !== ''
    const part = isInBlock || isFence ? '' : whole.slice(sign.length).replaceAll('**', '')
    const last = passages.at(-1)
    if (part.trim() === '') isOpen = false
    else if (isOpen && last?.isComment === isComment && !START.test(part)) last.text += `\n${part}`
    else {
      const cells = isMarkdown && part.startsWith('|') ? part.split(' | ') : [part]
      for (const cell of cells) {
        const bare = cell.replace(/^\s*(?:#+|[-*|>]|\d+\.) +/, '').trim()
        passages.push({ kind: 'prose', line: index + 1, text: bare, isComment })
      }
      isOpen = !/^#+ /.test(part)
    }
  }
  return passages
}
