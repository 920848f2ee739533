import { request, type RequestOptions } from 'node:http'
import type { ListenAddress } from '../http/address.ts'

const MAX_RESPONSE = 16 * 1024

/** Sends one request to the sidecar on this machine. */
export function askLocal(
  address: ListenAddress,
  method: 'GET' | 'POST',
  path: string,
  timeoutMs: number,
): Promise<{ readonly status: number; readonly text: string }> {
  const target: RequestOptions =
    address.kind === 'unix'
      ? { socketPath: address.path }
      : { host: address.host, port: address.port }
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs)
    const asked = request({ ...target, method, path, agent: false, signal }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => {
        if (text.length < MAX_RESPONSE) text += part
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    asked.on('error', (error) =>
      reject(signal.aborted ? new Error(`no response within ${timeoutMs} ms`) : error),
    )
    asked.end()
  })
}
