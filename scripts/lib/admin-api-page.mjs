import { readFile } from 'node:fs/promises'
import { cell, GENERATED, table } from './markdown.mjs'

/** Descriptions of paths that the list of the admin port omits. */
const UNLISTED = {
  '/page/…': 'files of the admin page',
  '/app-health/…': 'health of the MCP server, for probes of the pod',
}

/** Returns the page of the admin API: the guide, then paths and fields from the contract in the code. */
export async function adminApiPage(built) {
  const guide = await readFile(new URL('./admin-api.md', import.meta.url), 'utf8')
  const { API, OTHER_PATHS } = await built('src/admin/contract/api.js')
  const { SCHEMAS } = await built('src/admin/contract/api-schemas.js')
  const all = [...Object.values(API), ...Object.values(OTHER_PATHS)]
  const list = all.map(({ path, method, summary, open }) => [
    `\`${path}\``,
    method,
    open === true ? 'none' : method === 'GET' ? 'read token, if set' : 'admin token',
    // The column of tokens states the requirement already.
    cell(
      (summary ?? UNLISTED[path]).replace(
        /^[A-Z]+, with the admin token: |; with the admin token,.*/g,
        '',
      ),
    ),
  ])
  const sections = Object.values(API).map(
    ({ path, method, query, request, response, stream }) => `## ${method} ${path}

${query === undefined ? '' : `Optional query parameters:\n\n${fields(query)}\n\n`}${request === undefined ? '' : `${method === 'DELETE' ? 'Request body:' : 'Optional request body:'}\n\n${fields(request)}\n\n`}${stream === true ? 'Server-sent events, each with this JSON:' : 'Response:'}

${fields(response)}`,
  )
  return `${GENERATED}

${guide.trim()}

## Paths

${table(['Path', 'Method', 'Token', 'Content'], list)}

${sections.join('\n\n')}

## Error responses

Responses with a status other than 200 have this JSON body. The exceptions are \`/readyz\`, which returns its usual body with 503, and \`/app-health/…\`, which returns text.

${fields(SCHEMAS.failure)}
`
}

/** Returns a table of an object's fields, including the fields of nested objects. */
function fields(schema) {
  const rows = []
  const add = (node, prefix) => {
    for (const [key, each] of Object.entries(node.properties ?? {})) {
      const name = `${prefix}${key}`
      const missing = node.required?.includes(key) === true ? '' : ', optional'
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
