import { section } from './lib/config-schema.ts'
import { defineFault, type Fault, type ParameterProblem, type Verdict } from './fault.ts'
import { challenge } from '../http/bearer-challenge.ts'
import * as Type from 'typebox'

/** The scopes that RFC 6749 allows: words without quotes and backslashes, one space apart. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/
const REALM = /^[\t\x20-\x7e]*$/

const DESCRIPTIONS = {
  invalid_token: 'The access token expired',
  insufficient_scope: 'The access token does not have the required scope',
  invalid_request: 'The request is missing something or is malformed',
} as const

type BearerError = keyof typeof DESCRIPTIONS

/** No access: the token has expired, or does not go far enough. */
export const unauthorized = defineFault({
  name: 'unauthorized',
  title: 'return HTTP 401 and 403',
  summary: 'rejects calls with HTTP 401 or 403',
  clientSees:
    'Clients receive status 401 or 403 with `WWW-Authenticate: Bearer …` and a JSON body with the error. The upstream does not receive the call. Clients with a token provider request a new token or more scopes, and retry. Other clients report an error.',
  otherTools:
    'Envoy has `abort` with `http_status: 401`, and Istio has `abort.httpStatus: 401`, both without `WWW-Authenticate`. Chaos Mesh has `HTTPChaos` with `replace: { code: 401 }`. toxiproxy has no equivalent, because it works below HTTP.',
  example: `- name: expired-token
  match: { headers: { authorization: { present: true } } }
  every: 50
  faults:
    - unauthorized: { error: invalid_token, resourceMetadata: "https://mcp.example/.well-known/oauth-protected-resource" }`,
  schema: section({
    status: Type.Unsafe<401 | 403>({
      type: 'integer',
      enum: [401, 403],
      default: 401,
      description: '`401`: not authenticated. `403`: authenticated, but not authorized.',
    }),
    error: Type.Optional(
      Type.Unsafe<BearerError>({
        type: 'string',
        enum: Object.keys(DESCRIPTIONS),
        description:
          'Sets the RFC 6750 error code. Default: `insufficient_scope` with 403; `invalid_token` with 401, or no code if the call has no token.',
      }),
    ),
    scope: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2048,
        description: 'Sets the required scopes, separated by spaces.',
        examples: ['files:read files:write'],
      }),
    ),
    realm: Type.String({ default: 'mcp', maxLength: 256, description: 'Sets the realm.' }),
    resourceMetadata: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2048,
        description: 'Sets the URL of the protected resource metadata (RFC 9728).',
        examples: ['https://mcp.example/.well-known/oauth-protected-resource'],
      }),
    ),
  }),
  check({ scope, realm, resourceMetadata }) {
    const problems: ParameterProblem[] = []
    if (scope !== undefined && !SCOPE.test(scope)) {
      const message = 'must be ASCII words without quotes and backslashes, one space apart'
      problems.push({ path: ['scope'], message })
    }
    if (!REALM.test(realm)) {
      problems.push({ path: ['realm'], message: 'must be printable ASCII' })
    }
    if (resourceMetadata !== undefined && !isWebAddress(resourceMetadata)) {
      const message = 'must be a URL that begins with https:// or http://'
      problems.push({ path: ['resourceMetadata'], message })
    }
    return problems
  },
  outlook({ status }) {
    return { by: 'request', asks: 'status', does: `responds with status ${status}` }
  },
  create({ status, error, scope, realm, resourceMetadata }): Fault {
    const usual = status === 403 ? 'insufficient_scope' : 'invalid_token'
    return {
      onRequest(ctx): Verdict {
        // RFC 6750: a request without a token only learns that one is needed.
        const isNameless = status === 401 && ctx.header('authorization') === undefined
        const code = error ?? (isNameless ? undefined : usual)
        const description = code && DESCRIPTIONS[code]
        const header = challenge({
          realm,
          error: code,
          error_description: description,
          scope,
          resource_metadata: resourceMetadata,
        })
        const body = JSON.stringify({
          error: code ?? 'unauthorized',
          error_description: description ?? 'An access token is required',
        })
        const headers = { 'WWW-Authenticate': header, 'Content-Type': 'application/json' }
        ctx.injected()
        return { kind: 'respond', reply: { kind: 'http', status, body, headers } }
      },
    }
  },
})

function isWebAddress(text: string): boolean {
  return /^https?:\/\/[\x21\x23-\x5b\x5d-\x7e]+$/i.test(text) && URL.canParse(text)
}
