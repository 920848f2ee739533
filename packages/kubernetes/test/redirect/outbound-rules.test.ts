import { expect, test } from 'vitest'
import { parseCidr } from '../../../../src/http/address.ts'
import { ruleset } from '../../src/redirect/ruleset.ts'

const network = parseCidr

test('captured connections come to the own address, with their destination as the source', () => {
  const captures = [{ port: 5432, network: undefined, to: 15301 }]
  const outbound = { captures, uids: [], exemptGid: 15390, apiServer: [] }
  expect(ruleset({ redirects: [], exemptUid: undefined, outbound })).toBe(`table inet squall
delete table inet squall
table inet squall {
  chain raw {
    type filter hook output priority -300; policy accept;
    meta skgid 15390 tcp dport { 5432 } ct original zone set 15390
  }
  chain output {
    type nat hook output priority -100; policy accept;
    oifname "lo" return
    meta skgid 15390 return
    ip daddr 169.254.0.0/16 return
    ip6 daddr fe80::/10 return
    ip6 daddr fd00:ec2::254 return
    meta nfproto ipv4 tcp dport 5432 counter dnat ip to ip saddr:15301
    meta nfproto ipv6 tcp dport 5432 counter dnat ip6 to ip6 saddr:15301
  }
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    oifname "lo" meta nfproto ipv4 tcp dport 15301 ct status dnat counter snat ip to ct original ip daddr
    oifname "lo" meta nfproto ipv6 tcp dport 15301 ct status dnat counter snat ip6 to ct original ip6 daddr
  }
  chain captured {
    iifname "lo" ct status dnat accept
    counter reject with tcp reset
  }
  chain input {
    type filter hook input priority 0; policy accept;
    tcp dport { 15301 } ct direction original jump captured
  }
}
`)
})

test('users and networks restrict a capture; what it names comes before what is excluded', () => {
  const captures = [
    { port: 80, network: network('0.0.0.0/0'), to: 15301 },
    { port: 80, network: network('169.254.169.254'), to: 15301 },
    { port: 443, network: network('10.96.0.1'), to: 15302 },
    { port: 6379, network: network('fd00::/8'), to: 15303 },
  ]
  const apiServer = [
    { network: network('10.96.0.1')!, port: 443 },
    { network: network('fd00:96::1')!, port: 443 },
  ]
  const outbound = { captures, uids: [1000, 1001], exemptGid: 7, apiServer }
  const redirects = [{ from: 3000, to: 15300 }]
  const text = ruleset({ redirects, exemptUid: undefined, outbound })
  expect(text).toContain(`
    ip6 daddr ::1 tcp dport 3000 counter redirect to :15300
    oifname "lo" return
    meta skgid 7 return
    meta skuid != { 1000, 1001 } return
    ip daddr 169.254.169.254 tcp dport 80 counter dnat ip to ip saddr:15301
    ip daddr 10.96.0.1 tcp dport 443 counter dnat ip to ip saddr:15302
    ip daddr 169.254.0.0/16 return
    ip6 daddr fe80::/10 return
    ip6 daddr fd00:ec2::254 return
    ip daddr 10.96.0.1 tcp dport 443 return
    ip6 daddr fd00:96::1 tcp dport 443 return
    ip daddr 0.0.0.0/0 tcp dport 80 counter dnat ip to ip saddr:15301
    ip6 daddr fd00::/8 tcp dport 6379 counter dnat ip6 to ip6 saddr:15303
  }`)
  expect(text).toContain('meta skgid 7 tcp dport { 80, 443, 6379 } ct original zone set 15390')
  expect(text).toContain('tcp dport { 15301, 15302, 15303 } ct direction original jump captured')
})
