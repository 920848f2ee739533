import { describe, expect, it } from 'vitest'
import { parseInjectorSettings } from '../../src/injector/parse-settings.ts'

const parse = (value: unknown) => parseInjectorSettings(value, '1.2.3')

describe('settings of the injector', () => {
  it('have defaults for everything', () => {
    expect(parse(undefined)).toEqual(parse({}))
    expect(parse({})).toMatchObject({
      image: 'squall:1.2.3-sidecar',
      prefix: 'squall.dev/',
      adminPort: 15390,
      firstListenPort: 15300,
      resources: { cpuRequest: '10m', memoryRequest: '32Mi' },
    })
  })

  it('have defaults for keys without a value, as a chart renders them', () => {
    const empty = { image: null, imagePullPolicy: '', resources: null, defaults: { ports: null } }
    expect(parse(empty)).toEqual(parse({}))
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
    [[], 'the settings: must be an object; got a list'],
    [{ imagge: 'x' }, 'imagge: unknown key "imagge"; did you mean `image`?'],
    [{ image: 'a b' }, 'image: "a b": write the name of an image'],
    [{ adminPort: 80 }, 'adminPort: must be an integer from 1024 to 65535; got 80'],
    [{ user: 0 }, 'user: must be an integer from 1'],
    [{ prefix: 'squall' }, 'prefix: "squall": must be a domain and a slash'],
    [
      { imagePullPolicy: 'Sometimes' },
      'imagePullPolicy: must be Always, IfNotPresent or Never; got "Sometimes"',
    ],
    [
      { resources: { memoryLimit: '1Mi' } },
      'memoryLimit: "1Mi": write a quantity of memory of at least 128Mi',
    ],
    [{ resources: { cpuRequest: '2' } }, 'resources.cpuRequest: must be at most cpuLimit'],
    [{ allowedImages: 'x' }, 'allowedImages: must be a list; got "x"'],
    [{ allowedImages: ['a', ''] }, 'allowedImages[1]: must not be empty'],
    [{ productionAction: 'Refuse' }, 'must be refuse, ignore or allow; got "Refuse"; did you mean'],
    [{ scrapeAnnotations: 'yes' }, 'scrapeAnnotations: must be true or false; got "yes"'],
    [{ defaults: { inject: 'true' } }, 'defaults.inject: unknown key "inject"; allowed: ports'],
    [
      { defaults: { 'rollback-on': 'not-ready' } },
      'defaults.rollback-on: "not-ready": write "not-ready for 10s"',
    ],
    [{ defaults: { 'max-active': '0' } }, 'max-active: "0": write an integer from 1'],
    [{ defaults: { 'allow-faults': 'delay,abrot' } }, 'write faults, separated by commas: delay'],
    [{ defaults: { 'deny-tools': 'pay,--help' } }, 'write tools, separated by commas'],
    [{ defaults: { 'allow-production': 'true' } }, 'defaults.allow-production: unknown key'],
    [
      { defaults: { 'max-percent': 20 } },
      'defaults.max-percent: must be a string; got 20; write it in quotes: "20"',
    ],
    [
      { defaults: { 'max-percent': '200%' } },
      'defaults.max-percent: "200%": write a number from 0 to 100',
    ],
  ])('are denied with what to write: %j', (value, message) => {
    expect(() => parse(value)).toThrow(message)
  })
})
