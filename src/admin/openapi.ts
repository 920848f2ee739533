import type { TSchema } from 'typebox'
import { API, type Endpoint, OTHER_PATHS } from './contract/api.ts'
import { SCHEMAS } from './contract/api-schemas.ts'

const BEARER = { type: 'http', scheme: 'bearer' }
const TOKENS = {
  adminToken: { ...BEARER, description: 'The admin token, from `--admin-token-file`.' },
  readToken: {
    ...BEARER,
    description: 'The read token, from `--admin-read-token-file`, if one is set.',
  },
}
/** Returns the description of the admin API by OpenAPI 3.1, from its contract. */
export function openApi(version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  const all: readonly (readonly [string, Endpoint])[] = [
    ...Object.entries(API),
    ...Object.entries(OTHER_PATHS),
  ]
  for (const [name, endpoint] of all) {
    const { path, method } = endpoint
    // Files of the page and probes are not for programs.
    if (path.endsWith('…')) continue
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(name, endpoint) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Squall admin API',
      version,
      description:
        'Later versions may add fields, but do not change the meaning of existing fields.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    components: { schemas: SCHEMAS, securitySchemes: TOKENS },
  }
}

function operation(name: string, { path, method, summary, open, ...endpoint }: Endpoint): object {
  const { query, request, response, stream } = endpoint
  const json = (schema: TSchema): object => ({ 'application/json': { schema: reference(schema) } })
  const text = { [path === OTHER_PATHS.openapi.path ? 'application/json' : 'text/plain']: {} }
  const events = response && { 'text/event-stream': { schema: reference(response) } }
  return {
    operationId: name,
    ...(summary !== undefined && { summary }),
    security:
      method !== 'GET' ? [{ adminToken: [] }] : open === true ? [] : [{}, { readToken: [] }],
    ...(query !== undefined && { parameters: parameters(query) }),
    ...(request !== undefined && { requestBody: { content: json(request) } }),
    responses: {
      200: {
        description:
          stream === true
            ? 'Server-sent events, each with a JSON document of this schema'
            : 'The response as JSON or text',
        content: stream === true ? events : response === undefined ? text : json(response),
      },
      default: {
        description: 'An error, with its reason',
        content: json(path === API.readyz.path ? API.readyz.response : SCHEMAS.failure),
      },
    },
  }
}

function parameters({ properties, required }: NonNullable<Endpoint['query']>): object {
  const needed: readonly string[] = required ?? []
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: needed.includes(name),
    schema,
  }))
}

/** Returns a reference where the schema has a name. */
function reference(schema: TSchema): object {
  const found = Object.entries(SCHEMAS).find(([, each]) => each === schema)
  return found === undefined ? schema : { $ref: `#/components/schemas/${found[0]}` }
}
