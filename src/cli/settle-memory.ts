import { setFlagsFromString } from 'node:v8'

/**
 * Keeps objects of exchanges out of the old generation. V8 infers from the first requests that they
 * live long, and then spends a tenth of the process's time on moving garbage. This runs before any
 * module that could mislead V8 is loaded.
 */
setFlagsFromString('--no-allocation-site-pretenuring')

/**
 * Limits the growth of the old generation between collections. By default it grows to several times
 * its size, which holds 20 MiB and more for good. Here it is collected when it has doubled. Buffers
 * of bodies count as growth: with a lower limit, bodies of 64 KiB would cause a collection every 30
 * ms, and cost up to twice the CPU.
 */
setFlagsFromString('--heap-growing-percent=100')
