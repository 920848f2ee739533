import type { Static } from 'typebox'
import { editEntries, setMember, type TextEdit } from '../../base/json/json-edit.ts'
import { valueOf, type JsonNode } from '../../base/json/json-node.ts'
import { mapOf, section } from './config-schema.ts'
import { namePicker, type Names } from './names.ts'
import * as Type from 'typebox'

/** Where the responses to the methods that list have their list. */
const LISTS: ReadonlyMap<string, string> = new Map([
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
])

/** The key of the list in the result of a method; undefined when it lists nothing. */
export function listKey(method: string | undefined): string | undefined {
  return method === undefined ? undefined : LISTS.get(method)
}

/** An entry that the upstream does not have. */
export const ghost = section({
  name: Type.String({ minLength: 1, maxLength: 256, description: 'Sets the name of the entry.' }),
  description: Type.Optional(
    Type.String({ maxLength: 4096, description: 'Sets the description of the entry.' }),
  ),
  inputSchema: mapOf(Type.Unknown(), {
    default: { type: 'object' },
    description: 'Sets the input schema, if the entry is a tool.',
  }),
  uri: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2048,
      description: 'Sets the URI or URI template, if the entry is a resource.',
    }),
  ),
})

type Ghost = Static<typeof ghost>

/** Makes the edits of a list, and says what they come to. Hidden entries are not duplicated. */
export function listEditor(changes: {
  readonly hide?: Names
  readonly duplicate?: Names
  readonly add?: readonly Ghost[]
}) {
  const { hide, duplicate, add = [] } = changes
  const isHidden = namePicker(hide ?? [])
  const isDoubled = namePicker(duplicate ?? [])
  return (text: string, result: JsonNode, key: string, isFirstPage: boolean) => {
    const list = valueOf(result, key)
    if (list?.kind !== 'array') return { edits: [], effects: [] }
    let hidden = 0
    let doubled = 0
    const gone = list.items.map((item) => namesOf(item).some(isHidden))
    const twice = list.items.map((item, index) => !gone[index]! && namesOf(item).some(isDoubled))
    for (const each of gone) if (each) hidden++
    for (const each of twice) if (each) doubled++
    // Once in all pages: added entries are not duplicates.
    const ghosts = isFirstPage ? add.map((each) => ghostText(each, key)) : []
    const edits = editEntries(list, {
      removes: (index) => gone[index]!,
      follows: (index) => {
        const item = list.items[index]!
        return twice[index]! ? [text.slice(item.start, item.end)] : []
      },
      adds: ghosts,
    })
    const effects = [
      ...(hidden > 0 ? [`hide ${hidden}`] : []),
      ...(doubled > 0 ? [`duplicate ${doubled}`] : []),
      ...(ghosts.length > 0 ? [`add ${ghosts.length}`] : []),
    ]
    return { edits, effects }
  }
}

/** The edits that make a result name this cursor as the next one. */
export function cursorEdits(result: JsonNode, cursor: string): readonly TextEdit[] {
  return result.kind === 'object' ? setMember(result, 'nextCursor', JSON.stringify(cursor)) : []
}

function namesOf(item: JsonNode): readonly string[] {
  return ['name', 'uri', 'uriTemplate'].flatMap((key) => {
    const value = valueOf(item, key)
    return value?.kind === 'string' ? [value.value] : []
  })
}

function ghostText({ name, description, inputSchema, uri }: Ghost, key: string): string {
  const about = { name, ...(description === undefined ? {} : { description }) }
  const at = uri ?? `ghost:///${encodeURIComponent(name)}`
  if (key === 'tools') return JSON.stringify({ ...about, inputSchema })
  if (key === 'resources') return JSON.stringify({ uri: at, ...about })
  if (key === 'resourceTemplates') return JSON.stringify({ uriTemplate: at, ...about })
  return JSON.stringify(about)
}
