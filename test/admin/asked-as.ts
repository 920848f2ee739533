import { request } from 'node:http'

/** The parts of a response that tests look at. */
export interface Asked {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** Asks a port of this machine with any headers, `host` among them. */
export function askedAs(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
    asked.on('error', reject)
    asked.on('response', (response) => {
      let body = ''
      const done = (): void => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body })
        response.destroy()
      }
      response.setEncoding('utf8').on('data', (part: string) => {
        body += part
        // A stream of events has no end.
        if (body.includes('data: ')) done()
      })
      response.on('end', done)
    })
    asked.end()
  })
}
