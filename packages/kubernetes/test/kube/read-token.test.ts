import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { startCluster } from '../../../../test/support/cluster.ts'

const opened = closers()
const READ_TOKEN = 'a-read-token-of-tests'

it('is what apply and status read sidecars with, past the API server', async () => {
  const shop = opened(await startCluster('shop'))
  const token = join(shop.directory, 'read-token')
  const rules = join(shop.directory, 'rules.yaml')
  await writeFile(token, READ_TOKEN)
  await writeFile(rules, failing('first'))
  const withToken = ['--admin-read-token-file', token]
  await shop.addPod('shop-1', { flags: withToken })

  const blind = await shop.status()
  expect(blind.code).toBe(1)
  expect(blind.out).toContain('the read token is required')
  expect(blind.out).toContain('use --admin-read-token-file or SQUALL_ADMIN_READ_TOKEN')
  expect(await shop.status(...withToken)).toMatchObject({ code: 0 })

  const refused = await shop.apply('-f', rules)
  expect(refused.code).toBe(1)
  expect(refused.err).toContain('SQUALL_ADMIN_READ_TOKEN')
  const applied = await shop.apply('-f', rules, ...withToken)
  expect(applied).toMatchObject({ code: 0, out: 'rules loaded in 1 of 1 pods\n' })
  for (const { out, err } of [blind, refused, applied]) expect(out + err).not.toContain(READ_TOKEN)
})
