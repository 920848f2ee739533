import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'

const ROOT = new URL('../../', import.meta.url)

// .dockerignore leaves out everything that it does not name, and a build of the image fails late.
it('the files that the Dockerfile copies are in the context of the build', async () => {
  const [dockerfile, ignored] = await Promise.all(
    ['Dockerfile', '.dockerignore'].map((name) => readFile(new URL(name, ROOT), 'utf8')),
  )
  const copied = [...dockerfile!.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files]) =>
    files!.split(' '),
  )
  const allowed = new Set(ignored!.split('\n').map((line) => line.replace(/^!/, '')))
  expect(copied.length).toBeGreaterThan(10)
  expect(copied.filter((file) => !allowed.has(file))).toEqual([])
})
