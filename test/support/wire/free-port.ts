import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { startUpstream } from './upstream.ts'

const LOWEST = 20_000
/** Where systems usually begin to give ports to connections that go out. */
const USUAL_GIVEN = 32_768
const ATTEMPTS = 100
/** The workers of a run have ports of their own. */
const SHARES = 8
const share = Number(process.env['VITEST_POOL_ID'] ?? 0) % SHARES
/** The ports that were tried: those that were free may not be in use yet. */
const tried = new Set<number>()

/**
 * A free port of loopback for somebody who has to know it beforehand. It is none that the kernel
 * would give to a connection or a listener meanwhile, and none that another worker of the same run
 * draws.
 */
export async function freePort(): Promise<number> {
  const end = Math.max(firstGiven(), LOWEST + 1_000)
  const most = Math.floor((end - LOWEST) / SHARES)
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = LOWEST + Math.floor(Math.random() * most) * SHARES + share
    if (tried.has(port)) continue
    tried.add(port)
    if (await isFree(port)) return port
  }
  throw new Error(`no port from ${LOWEST} to ${end} is free`)
}

/** The first port that this kernel gives by itself. */
function firstGiven(): number {
  try {
    const range = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
    return Math.min(Number(range.split(/\s/)[0]), USUAL_GIVEN)
  } catch {
    return USUAL_GIVEN
  }
}

async function isFree(port: number): Promise<boolean> {
  try {
    const probe = await startUpstream(createServer(), { host: '127.0.0.1', port })
    await probe.close()
    return true
  } catch {
    return false
  }
}
