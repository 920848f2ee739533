// part: clients
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { playTwice } from '../interop/through-squall.ts'
import { type SessionHost, startUpstream } from '../support/wire.ts'
import { runConformance } from './conformance-suite.ts'

describe('the conformance suite', () => {
  let server: SessionHost

  beforeAll(async () => {
    server = await startUpstream('conformance')
  })
  afterAll(() => server.close())

  it('says the same of a server and of Squall before it, check by check', async () => {
    const { direct, throughSquall } = await playTwice(server.url, runConformance)

    expect(direct.filter(({ status }) => status === 'FAILURE')).toEqual([])
    expect(direct.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThanOrEqual(45)
    expect(new Set(direct.map(({ scenario }) => scenario)).size).toBeGreaterThanOrEqual(32)
    expect(throughSquall).toEqual(direct)
  })
})
