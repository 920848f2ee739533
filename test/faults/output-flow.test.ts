// part: slow
import type { RequestListener } from 'node:http'
import { array, assert, asyncProperty, nat, uint8Array } from 'fast-check'
import { expect, it } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import { bytesHeld } from '../support/bytes-held.ts'
import { closers } from '../support/closers.ts'
import { RawClient, startSidecar, toolCall } from '../support/wire.ts'
import { onBody } from './output-faults.ts'
import { REPLACED } from './one-fault.ts'
import { rounds } from '../support/rounds.ts'

const opened = closers()
/** Cuts the bytes anew, at the offsets that `cut` gives. */
const recut = (cut: (size: number) => number): Fault =>
  onBody(async function* (source) {
    for await (const chunk of source) {
      const at = cut(chunk.length)
      yield chunk.subarray(0, at)
      yield chunk.subarray(at)
    }
  })

const PIECE = Buffer.alloc(64 * 1024, 'squall ')

/** Sends so many pieces, no faster than they are taken. */
function pouring(count: number, written: (pieces: number) => void): RequestListener {
  return (req, res) => {
    req.resume()
    res.setHeader('content-length', PIECE.length * count)
    let n = 0
    const pour = (): void => {
      while (n < count) {
        const more = res.write(PIECE)
        written(++n)
        if (!more) {
          res.once('drain', pour)
          return
        }
      }
      res.end()
    }
    pour()
  }
}

it('makes the upstream wait for a slow client, and loses no byte', async () => {
  const count = 250
  let sent = 0
  let still: (() => void) | undefined
  const stalled = new Promise<void>((resolve) => (still = resolve))
  let timer: NodeJS.Timeout | undefined
  const app = pouring(count, (pieces) => {
    sent = pieces
    clearTimeout(timer)
    timer = setTimeout(still!, 500)
  })
  const half = recut((size) => size >> 1)
  const stage = opened(
    await startSidecar({ rules: [REPLACED], faults: [half, half], upstream: app }),
  )
  const client = await RawClient.connect(stage.port, { keepBytes: false, keepBody: false })
  await client.send(toolCall(1), 'POST')
  await client.head()
  client.socket.pause()
  await stalled
  expect(sent).toBeLessThan(count)
  client.socket.resume()
  const response = (await client.response())!
  expect(response).toMatchObject({ complete: true, bodyBytes: count * PIECE.length })
  clearTimeout(timer)
  client.close()
})

it('holds no more of a large body than goes through', async () => {
  const count = 320
  const stage = opened(
    await startSidecar({
      rules: [REPLACED],
      faults: [recut((size) => size - 1)],
      upstream: pouring(count, () => undefined),
    }),
  )
  const client = await RawClient.connect(stage.port, { keepBytes: false, keepBody: false })
  const before = bytesHeld().arrayBuffers
  let most = 0
  let next = 0
  client.socket.on('data', () => {
    if (client.received < next) return
    next += 4 << 20
    most = Math.max(most, bytesHeld().arrayBuffers)
  })
  await client.send(toolCall(1), 'POST')
  expect(await client.response()).toMatchObject({ complete: true, bodyBytes: 20 << 20 })
  // The upstream pours in this process too, up to 7 MiB before it feels back-pressure.
  expect(most - before).toBeLessThan(10 << 20)
  client.close()
})

it('changes no byte, however often they are cut anew', async () => {
  let body: Uint8Array[] = []
  let cuts: number[] = []
  const cut = (size: number): number => (size === 0 ? 0 : (cuts.shift() ?? 0) % size)
  const stage = opened(
    await startSidecar({
      rules: [REPLACED],
      faults: [recut(cut), recut(cut)],
      upstream: (req, res) => {
        req.resume()
        for (const chunk of body) res.write(chunk)
        res.end()
      },
    }),
  )
  const client = await RawClient.connect(stage.port)
  let n = 0
  await assert(
    asyncProperty(array(uint8Array({ maxLength: 50 })), array(nat(50)), async (parts, places) => {
      body = parts
      cuts = places
      await client.send(toolCall(1), 'POST')
      const response = (await client.response(n++))!
      expect(response.complete).toBe(true)
      expect(response.body.equals(Buffer.concat(parts))).toBe(true)
    }),
    { numRuns: rounds(20, 200) },
  )
  expect(await stage.origins()).toEqual(['real'])
  client.close()
})
