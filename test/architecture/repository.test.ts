import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { problemsOfRepository } from '../../scripts/lib/repository.mjs'
import { texts } from './project-texts.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8')
const manifest = JSON.parse(read('package.json')) as {
  readonly homepage: string
  readonly repository: { readonly url: string }
  readonly bugs: { readonly url: string }
}

it('every file names the repository of package.json', () => {
  const { homepage, repository, bugs } = manifest
  expect(repository.url).toBe(`git+${homepage}.git`)
  expect(bugs.url).toBe(`${homepage}/issues`)
  const all = [...texts.values(), read('Dockerfile')].join('\n')
  const found = all.match(/github\.com\/[A-Za-z0-9_-]+\/squall\b/g)
  expect(new Set(found)).toEqual(new Set([homepage.replace('https://', '')]))
})

it('the chart and the image lead to the repository', () => {
  const { homepage } = manifest
  const chart = parse(read('deploy/chart/Chart.yaml')) as Record<string, unknown>
  expect(chart).toMatchObject({ home: homepage, sources: [homepage] })
  expect(read('Dockerfile')).toContain(`org.opencontainers.image.source="${homepage}"`)
})

it('a release without an owner, or from another repository, is rejected', () => {
  const of = (owner: string) => ({
    homepage: `https://github.com/${owner}/squall`,
    repository: { url: `git+https://github.com/${owner}/squall.git` },
  })
  expect(problemsOfRepository(of('OWNER'), undefined)).toEqual([
    'the repository has no owner yet: run node scripts/set-repository.mjs OWNER/NAME',
  ])
  expect(problemsOfRepository(of('some'), 'some/squall')).toEqual([])
  expect(problemsOfRepository(of('some'), undefined)).toEqual([])
  expect(problemsOfRepository(of('some'), 'other/squall')).toEqual([
    'package.json names github.com/some/squall, and this release runs in github.com/other/squall: a publish with provenance would be rejected',
  ])
})

it('the workflow of a release runs the check before it publishes', () => {
  const { jobs } = parse(read('.github/workflows/release.yml')) as {
    readonly jobs: {
      readonly checks: { readonly with: { readonly command: string } }
      readonly publish: { readonly needs: string }
    }
  }
  expect(jobs.checks.with.command).toContain('npm run release:check\n')
  expect(jobs.publish.needs).toBe('checks')
  expect(read('scripts/release-check.mjs')).toContain('GITHUB_REPOSITORY')
})

it('every package has the version of the program', () => {
  const { version } = JSON.parse(read('package.json')) as { readonly version: string }
  expect(/^version = "(.+)"$/m.exec(read('python/pyproject.toml'))?.[1]).toBe(version)
  const chart = parse(read('deploy/chart/Chart.yaml')) as Record<string, unknown>
  expect(chart).toMatchObject({ version, appVersion: version })
  const plugin = JSON.parse(read('deploy/agents/plugin/.claude-plugin/plugin.json')) as object
  expect(plugin).toMatchObject({ version })
})
