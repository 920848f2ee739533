import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Manifest } from '../deploy/manifest-problems.ts'
import { helmMissing, rendered } from './helm.ts'

function settingsOf(manifests: readonly Manifest[]): Record<string, unknown> {
  const found = manifests.find(
    ({ kind, ...each }) => kind === 'ConfigMap' && 'settings.yaml' in (each['data'] as object),
  )
  const { data } = found as unknown as { data: Record<string, string> }
  return parse(data['settings.yaml']!) as Record<string, unknown>
}

describe.skipIf(helmMissing() !== undefined)('options of the chart', () => {
  it.each([
    ['sidecar.scrapeAnnotations=true', true],
    ['sidecar.scrapeAnnotations=false', false],
    ['monitoring.sidecars.enabled=true', false],
    ['monitoring.webhook.enabled=true', true],
  ])('with %s annotations for scraping are added: %s', async (set, added) => {
    const settings = settingsOf(await rendered(['--set', set]))
    expect(settings['scrapeAnnotations']).toBe(added)
  })

  it('leads from alerts to your copy of the runbooks', async () => {
    const address = 'https://wiki.example/squall'
    const set = `monitoring.rules.enabled=true,monitoring.rules.runbooks=${address}`
    const rules = (await rendered(['--set', set])).filter(({ kind }) => kind === 'PrometheusRule')
    const urls = [...JSON.stringify(rules).matchAll(/"runbook_url":"([^"]*)"/g)]
    expect(urls.length).toBeGreaterThan(8)
    for (const [, url] of urls)
      expect(url).toMatch(/^https:\/\/wiki\.example\/squall#squall[a-z]+$/)
  })
})
