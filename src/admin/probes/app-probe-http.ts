import { request as plainRequest, type IncomingMessage } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { isIP } from 'node:net'
import type { CheckContext, Finding, HttpAction } from './app-probe.ts'

const MAX_REDIRECTS = 10
const MAX_HEADER_BYTES = 64 * 1024
// As much as the kubelet reads.
const MAX_BODY_BYTES = 10 * 1024
const DEFAULTS = ['user-agent', 'accept', 'host']

/** The target of a request. Redirects may lead to the host of the first target alone. */
interface ProbeTarget {
  readonly tls: boolean
  readonly host: string
  readonly port: number
  readonly path: string
  /** True when headers of the probe may name another host. */
  readonly named: boolean
}

/**
 * Asks as the kubelet would: 200 to 399 succeeds, certificates are not checked, redirects stay at
 * the host.
 */
export async function checkHttp(action: HttpAction, context: CheckContext): Promise<Finding> {
  let target: ProbeTarget = { ...action, named: true }
  for (let redirects = 0; ; redirects++) {
    const response = await ask(target, action, context)
    const status = response.statusCode ?? 0
    if (status < 300 || status > 399) {
      return {
        ok: status >= 200 && status <= 299,
        status,
        why: `the upstream responded with ${status}`,
      }
    }
    const next = redirected(target, response)
    if (next === undefined || next.host.toLowerCase() !== action.host.toLowerCase()) {
      return {
        ok: true,
        status,
        why: `the upstream responded with ${status}, which is not followed`,
      }
    }
    if (redirects === MAX_REDIRECTS - 1) {
      return { ok: false, status, why: `the upstream redirected ${MAX_REDIRECTS} times` }
    }
    target = next
  }
}

/** Returns the response after reading as much of its body as the kubelet would. */
function ask(
  target: ProbeTarget,
  { headers }: HttpAction,
  { signal, userAgent }: CheckContext,
): Promise<IncomingMessage> {
  const { tls, host, port, path } = target
  const options = {
    host,
    port,
    path,
    headers: sent(target, headers, userAgent),
    // Each probe has a new connection.
    agent: false as const,
    maxHeaderSize: MAX_HEADER_BYTES,
    signal,
  }
  return new Promise((resolve, reject) => {
    const request = tls
      ? tlsRequest({
          ...options,
          rejectUnauthorized: false,
          servername: isIP(host) === 0 ? host : '',
        })
      : plainRequest(options)
    request.on('error', reject)
    request.on('response', (response) => {
      const done = (): void => {
        resolve(response)
        request.destroy()
      }
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size >= MAX_BODY_BYTES) done()
      })
      response.on('error', reject)
      response.on('end', done)
    })
    request.on('upgrade', (response, socket) => {
      socket.destroy()
      resolve(response)
    })
    request.end()
  })
}

/** Returns names and values alternately, since a name may occur twice. */
function sent(
  { tls, host, port, named }: ProbeTarget,
  given: HttpAction['headers'],
  userAgent: string,
): string[] {
  const own = (name: string, fallback: string): string[] => {
    const values = given.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value)
    if (values.length === 0) return [name, fallback]
    // An empty value means no header.
    return values[0] === '' ? [] : values.flatMap((value) => [name, value])
  }
  const name = host.includes(':') ? `[${host}]` : host
  const authority = port === (tls ? 443 : 80) ? name : `${name}:${port}`
  const hostValue = named ? given.find(([key]) => key.toLowerCase() === 'host')?.[1] : undefined
  return [
    'host',
    hostValue === undefined || hostValue === '' ? authority : hostValue,
    ...own('user-agent', userAgent),
    ...own('accept', '*/*'),
    ...given.filter(([key]) => !DEFAULTS.includes(key.toLowerCase())).flat(),
  ]
}

/** Returns the target of a redirect; undefined for other responses. */
function redirected(
  target: ProbeTarget,
  { statusCode, headers }: IncomingMessage,
): ProbeTarget | undefined {
  const { location } = headers
  if (location === undefined || ![301, 302, 303, 307, 308].includes(statusCode ?? 0)) {
    return undefined
  }
  const name = target.host.includes(':') ? `[${target.host}]` : target.host
  const base = `${target.tls ? 'https' : 'http'}://${name}:${target.port}${target.path}`
  if (!URL.canParse(location, base)) throw new Error('the upstream redirected to an invalid URL')
  const url = new URL(location, base)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new Error(`the upstream redirected to ${url.protocol}`)
  }
  const tls = url.protocol === 'https:'
  return {
    tls,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (tls ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    named: target.named && !/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(location),
  }
}
