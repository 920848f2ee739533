import { type IncomingMessage, request as send } from 'node:http'
import { connectionProblem } from './feed-problem.ts'
import { type Place, placeText } from './place.ts'
import { readSmall } from './read-small.ts'

/** What an operator may ask for. */
export type Change = 'disarm' | 'arm'

const TIMEOUT_MS = 5_000

/** Asks a sidecar to disarm or to arm, and says in words what became of that. */
export function changeArming(place: Place, change: Change, token: string): Promise<string> {
  return new Promise((resolve) => {
    const body = change === 'disarm' ? '{"reason":"by squall top"}' : ''
    const request = send({
      host: place.host,
      port: place.port,
      path: `/api/${change}`,
      method: 'POST',
      agent: false,
      headers: {
        host: placeText(place),
        authorization: `Bearer ${token}`,
        'content-length': body.length,
        ...(body === '' ? {} : { 'content-type': 'application/json' }),
      },
    })
    const timer = setTimeout(() => {
      resolve('did not answer')
      request.destroy()
    }, TIMEOUT_MS)
    request.on('error', (error) => resolve(connectionProblem(error)))
    request.on('close', () => clearTimeout(timer))
    request.on('response', (response) => {
      void outcome(response, token)
        .then(resolve)
        .finally(() => request.destroy())
    })
    request.end(body)
  })
}

async function outcome(response: IncomingMessage, token: string): Promise<string> {
  const { error, armed, changed } = await readSmall(response, token)
  const { statusCode = 0 } = response
  if (statusCode !== 200) return `refused (${statusCode})${error === '' ? '' : `: ${error}`}`
  const state = armed ? 'armed' : 'disarmed'
  return changed ? state : `${state} already`
}
