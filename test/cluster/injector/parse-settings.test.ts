import { describe, expect, it } from 'vitest'
import { parseInjectorSettings } from '../../../src/cluster/injector/parse-settings.ts'

const parse = (value: unknown) => parseInjectorSettings(value, '1.2.3')

describe('settings of the injector', () => {
  it('have defaults for everything', () => {
    expect(parse(undefined)).toEqual(parse({}))
    expect(parse({})).toMatchObject({
      image: 'squall:1.2.3',
      prefix: 'squall.dev/',
      adminPort: 15390,
      firstListenPort: 15300,
      resources: { cpuRequest: '10m', memoryRequest: '32Mi' },
    })
  })

  it('take what they are given', () => {
    const given = {
      image: 'mirror.example/squall@sha256:'.concat('0'.repeat(64)),
      imagePullPolicy: 'IfNotPresent',
      resources: { memoryLimit: '512Mi' },
      defaults: { 'max-percent': '20%', 'native-sidecar': 'true' },
      scrapeAnnotations: false,
    }
    expect(parse(given)).toMatchObject(given)
  })

  it.each([
    [[], 'the settings: write an object'],
    [{ imagge: 'x' }, 'the settings has "imagge", which is not known: did you mean image?'],
    [{ image: 'a b' }, 'image: "a b": write the name of an image'],
    [{ adminPort: 80 }, 'adminPort: write an integer from 1024 to 65535'],
    [{ user: 0 }, 'user: write an integer from 1'],
    [{ prefix: 'squall' }, 'prefix: "squall": write a domain and a slash'],
    [{ imagePullPolicy: 'Sometimes' }, 'imagePullPolicy: use one of'],
    [
      { resources: { memoryLimit: '1Mi' } },
      'memoryLimit: "1Mi": write a quantity of memory of at least 128Mi',
    ],
    [{ resources: { cpuRequest: '2' } }, 'resources.cpuRequest: let it be at most cpuLimit'],
    [{ allowedImages: 'x' }, 'allowedImages: write a list of texts'],
    [{ scrapeAnnotations: 'yes' }, 'scrapeAnnotations: write true or false'],
    [{ defaults: { inject: 'true' } }, 'defaults has "inject", which is not known'],
    [
      { defaults: { 'allow-production': 'true' } },
      'defaults has "allow-production", which is not known',
    ],
    [{ defaults: { 'max-percent': 20 } }, 'defaults.max-percent: write text, in quotes'],
    [
      { defaults: { 'max-percent': '200%' } },
      'defaults.max-percent: "200%": write a number from 0 to 100',
    ],
  ])('are refused with what to write: %j', (value, message) => {
    expect(() => parse(value)).toThrow(message)
  })
})
