import { cell, GENERATED, table } from './markdown.mjs'

/** The reference of the admin API, from its contract in the code. */
export async function adminApiPage(built) {
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

# Paths and fields of the admin API

Every path of the admin port, and the JSON that it sends. [The admin API](../guides/admin-api.md) says how to use them. Fields may be added in later versions; none changes its meaning.

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
