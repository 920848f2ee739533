// part: api-server
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { splitPem } from '../../packages/kubernetes/src/webhook/managed-secret.ts'
import { closers } from '../support/closers.ts'
import { portOf, type Program, startProgram } from '../support/commands.ts'
import { ASK, podOf, reviewOf, startCluster } from '../support/cluster.ts'

// Needs the built program and nothing more.

const opened = closers()
const SECONDS = 70
/** So many a second at most; a busy machine makes fewer, which is as good. */
const RATE = 100
const MOST_UNDER_WAY = 50
/** One review in so many is on a connection of its own, and sees the certificate of the moment. */
const FRESH = 5
/**
 * An API server hears of a changed webhook configuration this much later: long before a serving
 * certificate needs it.
 */
const LAG_MS = 1_000
const HOST = 'squall.chaos.svc'
const CONFIGURATION = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/squall'
const BODY = JSON.stringify(reviewOf(podOf(ASK)))

test('CAs and serving certificates of seconds rotate in two replicas, and no review fails', async () => {
  const cluster = opened(await startCluster('api', 'chaos'))
  cluster.api.put(CONFIGURATION, { webhooks: [{ name: 'inject.squall.dev', clientConfig: {} }] })
  const replicas = [start(cluster.kubeconfig), start(cluster.kubeconfig)]
  const lines = await Promise.all(
    replicas.map((program) => program.logged('serving admission requests')),
  )
  const ports = lines.map(portOf)

  const bundles: { at: number; pem: string }[] = []
  const seen = { serving: new Set<string>(), cas: new Set<string>() }
  const look = (): void => {
    const { webhooks } = cluster.api.store.get(CONFIGURATION) as {
      webhooks: { clientConfig: { caBundle?: string } }[]
    }
    const pem = Buffer.from(webhooks[0]!.clientConfig.caBundle ?? '', 'base64').toString()
    for (const each of splitPem(pem)) seen.cas.add(each)
    if (bundles.at(-1)?.pem !== pem) bundles.push({ at: performance.now(), pem })
  }
  look()
  const looking = setInterval(look, 20)
  opened({ close: () => clearInterval(looking) })
  await sleep(LAG_MS + 100)

  // Connections that an API server keeps outlive the certificate that they began with.
  const kept = new Agent({ keepAlive: true, maxSockets: 4, maxCachedSessions: 0 })
  opened({ close: () => kept.destroy() })
  const failures: string[] = []
  const under = new Set<Promise<void>>()
  const end = performance.now() + SECONDS * 1000
  let reviews = 0
  for (; performance.now() < end; reviews++) {
    await sleep(1000 / RATE)
    if (under.size === MOST_UNDER_WAY) await Promise.race(under)
    const known = bundles.findLast(({ at }) => at <= performance.now() - LAG_MS)!
    const agent = reviews % FRESH === 0 ? new Agent({ maxCachedSessions: 0 }) : kept
    const review = ask(ports[reviews % 2]!, known.pem, agent).then(
      (serial) => void seen.serving.add(serial),
      (error: unknown) => void failures.push(String(error)),
    )
    under.add(review)
    void review.then(() => under.delete(review))
  }
  await Promise.all(under)
  expect(reviews).toBeGreaterThan(SECONDS)
  expect(failures).toEqual([])
  expect(seen.serving.size).toBeGreaterThanOrEqual(5)
  expect(seen.cas.size).toBeGreaterThanOrEqual(2)
  // The API server is a part of this process, and where the machine is busy it may answer too late:
  // then the replicas say so, and try again.
  const complaints = replicas
    .flatMap((program) => program.lines)
    .filter(({ level }) => level === 'error' || level === 'warn')
    .filter(({ detail }) => !String(detail).includes('did not respond within'))
  expect(complaints).toEqual([])
  console.log(
    `${reviews} reviews, none failed; ${seen.serving.size} serving certificates, ${seen.cas.size} CAs`,
  )
})

function start(kubeconfig: string): Program {
  const program = startProgram(
    [
      'webhook',
      '--listen=127.0.0.1:0',
      '--admin=127.0.0.1:0',
      '--namespace=chaos',
      '--tls-secret=tls',
      `--tls-host=${HOST}`,
      '--webhook-configuration=squall',
      '--ca-lifetime=60s',
      '--certificate-lifetime=30s',
      '--rotate-before=20s',
      '--certificate-check=1s',
      '--review-timeout=30s',
      '--ca-settle=8s',
    ],
    { KUBECONFIG: kubeconfig },
  )
  opened({ close: () => program.kill() })
  return program
}

/** Asks as an API server that trusts these CAs; the result is the serial that it was shown. */
function ask(port: number, ca: string, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const place = { host: '127.0.0.1', port, servername: HOST, path: '/mutate', method: 'POST' }
    const asked = request({ ...place, agent, ca, headers }, (response) => {
      const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate()
      response.resume()
      response.on('end', () => {
        if (response.statusCode === 200) resolve(serialNumber)
        else reject(new Error(`status ${response.statusCode}`))
      })
    })
    asked.setTimeout(20_000, () => asked.destroy(new Error('no response')))
    asked.on('error', reject)
    asked.end(BODY)
  })
}
