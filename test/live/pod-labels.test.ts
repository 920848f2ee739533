import { afterEach, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { mountRules, type MountedRules } from './rules-directory.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'

const running: RuledSquall[] = []
const mounts: MountedRules[] = []

afterEach(async () => {
  for (const each of running.splice(0)) await each.close()
  for (const each of mounts.splice(0)) await each.remove()
})

const RULES = `rules:
  - name: of-shop
    match: { podLabels: { app: shop } }
    faults: [abort: { toolError: hit }]
`

/** Squall in a pod with these labels, as kubelet writes them. */
async function inPod(
  labels: string | undefined,
): Promise<{ pod: RuledSquall; file: MountedRules }> {
  const file = await mountRules(labels)
  mounts.push(file)
  const flags = ['--pod-labels-file', file.file, '--log-level', 'error']
  const pod = await startSquall({ rules: RULES, flags })
  running.push(pod)
  return { pod, file }
}

async function responses(pod: RuledSquall, wanted: string): Promise<void> {
  await eventually(async () => {
    const text = await pod.text()
    return text === wanted ? undefined : `answers ${text}`
  })
}

it('rules about labels act from the first call in a pod that has them, and nowhere else', async () => {
  const { pod: shop } = await inPod('app="shop"\npod-template-hash="5d"\n')
  const { pod: bank } = await inPod('app="bank"\n')
  expect(await shop.text()).toBe('hit')
  expect(await bank.text()).toBe('fine')
})

it('labels that change count without a restart', async () => {
  const { pod, file } = await inPod('app="bank"\n')
  expect(await pod.text()).toBe('fine')
  await file.swap('app="shop"\n')
  await responses(pod, 'hit')
  await file.swap('app="bank"\n')
  await responses(pod, 'fine')
})

it('temporary faults about labels follow them, too', async () => {
  const { pod, file } = await inPod('app="bank"\n')
  const match = { podLabels: { app: 'till' } }
  const faults = [{ abort: { toolError: 'added' } }]
  pod.squall.running.temporary!.add({ match, for: '1h', faults })
  expect(await pod.text()).toBe('fine')
  await file.swap('app="till"\n')
  await responses(pod, 'added')
  await file.swap('app="bank"\n')
  await responses(pod, 'fine')
})

it.each([
  ['is not there', undefined],
  ['holds something else', '<html>'],
  ['is too long', `app="shop"\n${'#'.repeat(300_000)}`],
])('a file of labels that %s fits no rule', async (_, text) => {
  const { pod, file } = await inPod(text)
  expect(await pod.text()).toBe('fine')
  await file.swap('app="shop"\n')
  await responses(pod, 'hit')
})
