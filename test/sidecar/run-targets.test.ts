import { expect, test } from 'vitest'
import type { RunOptions } from '../../src/sidecar/run-options.ts'
import { askedBy } from '../support/commands/command-line.ts'

const parse = (url: string): string | undefined =>
  (askedBy('run', { 'public-url': url }) as RunOptions).publicUrl

test.each([
  ['https://GW.example:443/', 'https://gw.example'],
  ['http://[::1]:8080/a/b/', 'http://[::1]:8080/a/b'],
  ['https://gw.example/"x"', 'https://gw.example/%22x%22'],
])('%s is the public URL %s', (text, url) => {
  expect(parse(text)).toBe(url)
})

test.each([
  ['gw.example', '"gw.example" must be an http or https URL; write the URL that clients use'],
  ['ftp://gw.example', '"ftp://gw.example" must be an http or https URL'],
  ['https://', '"https://" must be an http or https URL'],
  ['https://a b', '"https://a b" must be an http or https URL'],
  ['https://user:hunter2@gw.example', 'the URL contains a user name or password; remove it'],
  ['https://gw.example/?a', '"https://gw.example/?a" has a query or a fragment; end the URL'],
  ['https://gw.example/#', '"https://gw.example/#" has a query or a fragment; end the URL'],
])('%s is refused', (text, message) => {
  expect(() => parse(text)).toThrow(`--public-url: ${message}`)
})
