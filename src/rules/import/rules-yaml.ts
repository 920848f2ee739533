import { Document, isMap, isPair, isSeq, visit } from 'yaml'
import { hasUnseen, plain, plainJson } from '../../base/text/foreign-text.ts'
import type { Draft, FileKeys } from './report.ts'

const MAX_LINE = 100

/** Formats rules as a file that people read and edit. */
export function rulesYaml(
  file: FileKeys,
  drafts: readonly Draft[],
  comments: readonly string[],
): string {
  const rules = drafts.map(({ name, keys }) => ({ name, ...keys }))
  const document = new Document(
    { version: 1, ...file, rules }, // Editors with YAML 1.1 read `on` as true.
    { aliasDuplicateObjects: false, compat: 'yaml-1.1' },
  )
  document.commentBefore = comments.map(comment).join('\n')
  const list = document.get('rules')
  if (isSeq(list)) list.items.forEach((item, index) => layOut(item, drafts[index], index > 0))
  visit(document, {
    Scalar: (_, node) => {
      const { value } = node
      if (typeof value === 'string' && hasUnseen(value.replaceAll('\n', ''))) {
        node.type = 'QUOTE_DOUBLE'
      }
    },
  })
  const text = document.toString({ lineWidth: 0, singleQuote: true })
  // Only double quotes have such characters left, and there an escape stands for the same value.
  return text.split('\n').map(plainJson).join('\n')
}

function layOut(rule: unknown, draft: Draft | undefined, spaceBefore: boolean): void {
  if (!isMap(rule)) return
  rule.spaceBefore = spaceBefore
  if (draft?.comment !== undefined) rule.commentBefore = comment(draft.comment)
  for (const key of ['match', 'burst', 'episode']) inline(rule.get(key))
  const faults = rule.get('faults')
  if (!isSeq(faults)) return
  for (const fault of faults.items) {
    if (isMap(fault)) for (const { value } of fault.items) inline(value)
  }
}

/** Writes a value on one line, or its members where that would be too long. */
function inline(node: unknown): void {
  if (!isMap(node) && !isSeq(node)) return
  if (JSON.stringify(node).length <= MAX_LINE) node.flow = true
  else for (const item of node.items) inline(isPair(item) ? item.value : item)
}

/** Returns a foreign text as a comment, which none of its characters can end. */
function comment(text: string): string {
  return text
    .split('\n')
    .map((line) => ` ${plain(line).trimEnd()}`)
    .join('\n')
}
