import { expect, it } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { CALL, post, RESULT } from './large.ts'
import { served, written } from './recorded.ts'

const open = closers()
const ASKED = { ...CALL, params: { name: 'echo', arguments: {} } }
const TOO_MANY = { ...RESULT, status: 429, retryAfter: '1', body: 'slow down' }
const STATUS = 'status must be an integer from 100 to 599'
const RETRY_AFTER = 'retryAfter is not printable, or is too long'

async function shown(path: string) {
  const { code, stdout, stderr } = await startProgram(['tape', 'show', path], {}, { here: true })
  return { code, stdout, stderr }
}

it.each([
  [{ retryAfter: '1\r\nSet-Cookie: a=b' }, RETRY_AFTER],
  [{ retryAfter: '1'.repeat(101) }, RETRY_AFTER],
  [{ retryAfter: 1 }, 'retryAfter must be a string'],
  [{ retryAfter: null }, 'retryAfter must be a string'],
  [{ status: '200\r\nX: y' }, STATUS],
  [{ status: 99 }, STATUS],
  [{ status: 600 }, STATUS],
  [{ status: 200.5 }, STATUS],
  [{ status: null }, STATUS],
  [{ body: 7 }, 'body must be a string'],
  [{ failed: {} }, 'failed must be a string'],
  [{ session: null }, 'session must be a string'],
])('leaves out a response whose head or body cannot be written: %j', async (hostile, reason) => {
  const path = await written([ASKED, { ...TOO_MANY, ...hostile }, TOO_MANY])
  const { code, stdout, stderr } = await shown(path)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain(`1 line could not be read: line 3, ${reason}\n`)
  const response = await post(open(await served(path)).url, 'echo')
  expect(response.status).toBe(429)
  expect(response.headers.get('retry-after')).toBe('1')
  expect(response.headers.get('set-cookie') ?? response.headers.get('x')).toBeNull()
  expect(await response.text()).toBe('slow down')
})

it('takes a null error for none', async () => {
  const path = await written([ASKED, { ...RESULT, error: null, result: { ok: 1 } }])
  const { code, stdout } = await shown(path)
  expect(code).toBe(0)
  expect(stdout).toMatch(/echo .* ok /)
  const response = await post(open(await served(path)).url, 'echo')
  expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 7, result: { ok: 1 } })
})
