import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startProgram, startSquall } from '../../../../test/support/commands.ts'
import { call, callMessage, startUpstream } from '../../../../test/support/wire.ts'
import { Secrets } from '../../../../test/telemetry/secrets.ts'
import { linesOf, newPath } from './recorded.ts'

const open = closers()

interface Credentials {
  readonly headers?: Readonly<Record<string, string>>
  readonly path?: string
}

const basic = (secret: string): string => Buffer.from(`ada:${secret}`).toString('base64')
const jwt = (secret: string): string =>
  `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(`{"sub":"${secret}"}`).toString('base64url')}.${secret}`

/** How clients authenticate to MCP servers. */
const SCHEMES: Readonly<Record<string, (secret: string) => Credentials>> = {
  bearer: (secret) => ({ headers: { authorization: `Bearer ${secret}` } }),
  jwt: (secret) => ({ headers: { authorization: `Bearer ${jwt(secret)}` } }),
  basic: (secret) => ({ headers: { authorization: `Basic ${basic(secret)}` } }),
  digest: (secret) => ({ headers: { authorization: `Digest username="a", response="${secret}"` } }),
  dpop: (secret) => ({ headers: { authorization: `DPoP ${secret}`, dpop: jwt(secret) } }),
  key: (secret) => ({ headers: { 'x-api-key': secret } }),
  other: (secret) => ({ headers: { 'x-acme': secret } }),
  cookie: (secret) => ({ headers: { cookie: `sid=${secret}` } }),
  proxy: (secret) => ({ headers: { 'proxy-authorization': `Basic ${basic(secret)}` } }),
  query: (secret) => ({ path: `/mcp?api_key=${secret}` }),
  path: (secret) => ({ path: `/mcp/${secret}` }),
}

/** Starts a server that responds with what `respond` returns, as JSON. */
async function server(
  respond: (request: IncomingMessage, body: string, response: ServerResponse) => unknown,
): Promise<string> {
  const send = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const value = respond(request, await text(request), response)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(value))
  }
  return open(await startUpstream((request, response) => void send(request, response))).url
}

it.each(Object.entries(SCHEMES))(
  'records no credential of a client that authenticates by %s',
  async (scheme, credentials) => {
    const secrets = new Secrets()
    const wrong = secrets.plant('expired')
    const right = secrets.plant('valid')
    const url = await server((request, _, response) => {
      const sent = JSON.stringify([request.url, request.headers])
      const isKnown = [right, basic(right), jwt(right)].some((each) => sent.includes(each))
      if (isKnown) {
        response.setHeader('mcp-session-id', secrets.plant('session'))
        return { jsonrpc: '2.0', id: 2, result: { content: [] } }
      }
      response.statusCode = 401
      response.setHeader('www-authenticate', `Bearer realm="${secrets.plant('challenge')}"`)
      return { error: 'invalid_token', error_description: `expired: ${wrong}` }
    })
    const path = await newPath()
    const squall = await startSquall('--upstream', url, '--tape', path)
    const { port } = squall
    for (const [id, secret] of [wrong, right].entries()) {
      await call({ port, ...credentials(secret) }, callMessage(id + 1))
    }
    await squall.close()
    const recorded = (await linesOf(path)).filter(({ from }) => from === 'server')
    expect(recorded, scheme).toMatchObject([{ status: 401 }, { result: { content: [] } }])
    expect(secrets.foundIn(await readFile(path, 'utf8'))).toEqual([])
    expect(secrets.foundIn(JSON.stringify(squall.logs))).toEqual([])
  },
)

it('records nothing of an OAuth flow that passes', async () => {
  const secrets = new Secrets()
  const url = await server((request) =>
    request.url === '/mcp'
      ? { jsonrpc: '2.0', id: 1, result: { content: [] } }
      : {
          access_token: secrets.plant('access token'),
          refresh_token: secrets.plant('refresh token'),
          id_token: jwt(secrets.plant('id token')),
          client_id: 'agent',
          client_secret: secrets.plant('client secret'),
        },
  )
  const path = await newPath()
  const squall = await startSquall('--upstream', url, '--tape', path)
  const form = (name: string): string =>
    `grant_type=${name}&code=${secrets.plant('code')}&code_verifier=${secrets.plant('verifier')}` +
    `&client_secret=${secrets.plant('sent secret')}&refresh_token=${secrets.plant('sent token')}`
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const place = { port: squall.port, headers }
  await call({ ...place, path: '/token' }, form('authorization_code'))
  await call({ ...place, path: '/token' }, form('refresh_token'))
  const registration = { client_name: 'agent', software_statement: jwt(secrets.plant('statement')) }
  await call({ port: squall.port, path: '/register' }, registration)
  await call({ port: squall.port }, callMessage(1))
  await squall.close()
  expect(secrets.foundIn(await readFile(path, 'utf8'))).toEqual([])
  expect((await linesOf(path)).map(({ from }) => from)).toContain('server')
})

/** Values with a token, as tools take and return them. */
const TOKENS: Readonly<Record<string, (secret: string) => unknown>> = {
  password: (secret) => ({ password: secret.slice(0, 12) }),
  passwd: (secret) => ({ passwd: secret.slice(0, 12) }),
  pwd: (secret) => ({ db: { pwd: secret.slice(0, 12) } }),
  passphrase: (secret) => ({ passphrase: secret.slice(0, 12) }),
  credentials: (secret) => ({ credentials: [secret.slice(0, 12)] }),
  'private key': (secret) => ({ privateKey: secret.slice(0, 12) }),
  'access key': (secret) => ({ aws_access_key: secret.slice(0, 12) }),
  'PEM of a key': (secret) =>
    `-----BEGIN RSA PRIVATE KEY-----\n${secret}\n-----END RSA PRIVATE KEY-----`,
  JWT: (secret) => jwt(secret),
  'GitHub token': (secret) => `clone it with ghp_${secret}`,
  'fine-grained token': (secret) => `github_pat_${secret}`,
  'GitLab token': (secret) => `glpat-${secret}`,
  'Slack token': (secret) => `xoxb-${secret}`,
  'AWS key': (secret) => `AKIA${secret.toUpperCase()}`,
  'OpenAI key': (secret) => `sk-proj-${secret}`,
  header: (secret) => ({ headers: { 'X-Api-Key': secret.slice(0, 12) } }),
  'header in a text': (secret) => `curl -H "Authorization: token ${secret.slice(0, 12)}"`,
  'URL of a database': (secret) => `postgres://ada:${secret.slice(0, 12)}@db/shop`,
  'signed URL': (secret) => `https://store.example/a?X-Amz-Signature=${secret}`,
  'text of variables': (secret) => `PORT=80\nAPI_KEY=${secret.slice(0, 12)}\n`,
  'JSON in a text': (secret) => JSON.stringify({ user: 'ada', pwd: secret.slice(0, 12) }),
  'text of a block': (secret) => ({ type: 'text', text: `password: ${secret.slice(0, 12)}` }),
}

it('records no token of an argument, a result, an error or a message of the server', async () => {
  const secrets = new Secrets()
  const planted = (place: string): readonly unknown[] =>
    Object.entries(TOKENS).map(([name, form]) => form(secrets.plant(`${place}: ${name}`)))
  const url = await server((_, body) => {
    const { id, method } = JSON.parse(body) as { id: number; method: string }
    const place = `${method} ${id}`
    if (id === 2)
      return { jsonrpc: '2.0', id, error: { code: -1, message: 'denied', data: planted(place) } }
    const result = { content: planted(place), structuredContent: { list: planted(place) } }
    return { jsonrpc: '2.0', id, result: { ...result, _meta: { list: planted(place) } } }
  })
  const path = await newPath()
  const squall = await startSquall('--upstream', url, '--tape', path)
  for (const id of [1, 2]) {
    const params = { name: 'login', arguments: { list: planted('arguments') } }
    await call({ port: squall.port }, { jsonrpc: '2.0', id, method: 'tools/call', params })
  }
  await squall.close()
  expect(await linesOf(path)).toHaveLength(4)
  // Keys of AWS are in capitals.
  expect(secrets.foundIn((await readFile(path, 'utf8')).toLowerCase())).toEqual([])
  const { stdout } = await startProgram(['tape', 'show', path, '--json'], {}, { here: true })
  expect(stdout).toContain('login')
  expect(secrets.foundIn(stdout.toLowerCase())).toEqual([])
})
