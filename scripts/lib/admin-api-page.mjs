import { readFile } from 'node:fs/promises'
import { cell, GENERATED, table } from './markdown.mjs'

/** The page of the admin API: how to use it, and its paths and fields from its contract in the code. */
export async function adminApiPage(built) {
  const guide = await readFile(new URL('./admin-api.md', import.meta.url), 'utf8')
  const { API, OTHER_PATHS } = await built('src/admin/contract/api.js')
  const { SCHEMAS } = await built('src/admin/contract/api-schemas.js')
  const all = [...Object.values(API), ...Object.values(OTHER_PATHS)]
  const list = all.map(({ path, method, summary, open }) => [
    `\`${path}\``,
    method,
    open === true
      ? 'nothing'
      : method !== 'GET'
        ? 'the admin token'
        : 'the read token, if one is set',
    cell(summary ?? ''),
  ])
  const sections = Object.values(API).map(
    ({ path, method, query, request, response, stream }) => `## ${method} ${path}

${query === undefined ? '' : `The query is optional:\n\n${fields(query)}\n\n`}${request === undefined ? '' : `${method === 'DELETE' ? 'The body:' : 'The body is optional:'}\n\n${fields(request)}\n\n`}${stream === true ? 'Server-sent events, each with this JSON:' : 'The response:'}

${fields(response)}`,
  )
  return `${GENERATED}

${guide.trim()}

## Paths

${table(['Path', 'Method', 'Needs', 'Sends'], list)}

${sections.join('\n\n')}

## Failures

Every response with another status than 200 has this JSON, but for \`/readyz\`, which sends its own with 503:

${fields(SCHEMAS.failure)}
`
}

/** A table of an object's fields, and of the fields of objects in it. */
function fields(schema) {
  const rows = []
  const add = (node, prefix) => {
    for (const [key, each] of Object.entries(node.properties ?? {})) {
      const name = `${prefix}${key}`
      const missing = node.required?.includes(key) === true ? '' : ', or missing'
      rows.push([`\`${name}\``, `${typeOf(each)}${missing}`, cell(each.description ?? '')])
      // Skips fields that another path describes in full.
      if (each.description?.startsWith('As `') !== true) {
        add(each, `${name}.`)
        if (each.items !== undefined) add(each.items, `${name}[].`)
      }
    }
  }
  add(schema, '')
  return table(['Field', 'Type', 'Meaning'], rows)
}

function typeOf({ type, enum: words, items, patternProperties }) {
  if (words !== undefined) return words.map((word) => `\`${word}\``).join(', ')
  const [each] = Object.values(patternProperties ?? {})
  if (items !== undefined) return `list of ${typeOf(items)}`
  if (each !== undefined) return `object of ${typeOf(each)}`
  return [type].flat().join(' or ')
}
