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
  const allowed = ignored!.split('\n').map((line) => line.replace(/^!/, ''))
  const isAllowed = (file: string): boolean =>
    allowed.some((path) => file === path || file.startsWith(`${path}/`))
  expect(copied.length).toBeGreaterThan(10)
  expect(copied.filter((file) => !isAllowed(file))).toEqual([])
})

it('the Dockerfile copies every script that the build in it imports', async () => {
  const dockerfile = await readFile(new URL('Dockerfile', ROOT), 'utf8')
  const open = ['scripts/build.mjs', 'scripts/image-sbom.mjs']
  const needed = new Set(open)
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    const text = await readFile(new URL(file, ROOT), 'utf8')
    for (const [, path = ''] of text.matchAll(/ from '(\.[^']+\.mjs)'/g)) {
      const imported = new URL(path, new URL(file, ROOT)).href.slice(ROOT.href.length)
      if (needed.has(imported)) continue
      needed.add(imported)
      open.push(imported)
    }
  }
  expect(needed.size).toBeGreaterThan(4)
  expect([...needed].filter((file) => !dockerfile.includes(` ${file} `))).toEqual([])
})
