#!/usr/bin/env python3
"""Writes tests of vector ALU instructions in the format of tests/isa/isa_file.h, with what the model in this folder expects.

  generate.py --table coverage.csv --out DIR [--cases N] [--seed S] [--only REGEX]

coverage.csv is the output of `wavejit coverage --csv`. Every file has N cases of 64 lanes for each class of modifiers that the
opcode takes: none, other modes, abs and neg, clamp, omod, SDWA, DPP.
"""

import argparse
import collections
import csv
import os
import random
import re

from softfloat import *
from vector import *

TARGETS = ['gfx600', 'gfx700', 'gfx803', 'gfx900', 'gfx906', 'gfx908', 'gfx90a']
BITS = {'f16': 16, 'u16': 16, 'f32': 32, 'u32': 32, 'f64': 64, 'u64': 64}
FORMATS = {'f16': F16, 'f32': F32, 'f64': F64}
MODES = [0x3c0, 0x3f0, 0x3f5, 0x3fa, 0x3ff, 0x300, 0x1f0, 0x0f0, 0x310, 0x3e0]
OMOD_MODES = [0x100, 0x000, 0x105]
OLD = 0x5a5a1234  # what destinations hold before


def corner(kind, rng):
    bits = BITS[kind]
    if kind in FORMATS:
        f = FORMATS[kind]
        one = f.bias << f.fraction
        corners = [0, f.sign, one, one | f.sign, 1, 1 | f.sign, (1 << f.fraction) - 1, 1 << f.fraction, f.max_finite,
                   f.inf, f.inf | f.sign, f.nan, f.inf | 1, f.nan | f.sign | 3, one >> 1, one + 1, one - 1]
        how = rng.randrange(8)
        if how < 3:
            return rng.choice(corners)
        if how == 3:  # small integers and halves
            return f.round(rng.randrange(-64, 64), rng.randrange(-2, 6))
        if how == 4:  # around one
            return (one + rng.randrange(-8, 8) * (1 << rng.randrange(f.fraction))) & f.mask ^ rng.choice([0, f.sign])
        if how == 5:  # around the range of integers
            return f.round(rng.randrange(-1 << 33, 1 << 33), rng.choice([0, 0, -1, -8, -16, 20]))
        return rng.getrandbits(bits)
    mask = (1 << bits) - 1
    how = rng.randrange(6)
    if how < 2:
        return rng.choice([0, 1, 2, 31, 32, 63, 64, 127, 128, 255, 0x7fff, 0x8000, 0xffff, mask >> 1, mask // 2 + 1, mask,
                           mask - 1]) & mask
    if how == 2:
        return rng.randrange(256) & mask
    if how == 3:
        return -rng.randrange(256) & mask
    return rng.getrandbits(bits)


def clamp_result(m, kind, x):
    env = m.of(kind)
    f = env.fmt
    if f.is_nan(x):
        return 0 if env.dx10_clamp else f.nan
    x = env.input(x)
    if x & f.sign or f.is_zero(x):
        return 0
    one = f.bias << f.fraction
    return one if less(f, one, x) else x


def omod_result(m, kind, x, omod):
    env = m.of(kind)
    f = env.fmt
    if not omod or env.ieee or not env.flush_out:
        return x
    x = env.input(x)
    if not (f.is_nan(x) or f.is_inf(x) or f.is_zero(x)):
        n, e = f.decode(x)
        x = env.result(n, e + {'mul:2': 1, 'mul:4': 2, 'div:2': -1}[omod])
    return 0 if x == f.sign else x


class Case:
    """Sources by lane, an instruction, a function from the sources of a lane to its result."""

    def __init__(self, opcode, target, rng, mode):
        self.opcode, self.target, self.rng, self.mode = opcode, target, rng, mode
        self.m = Mode(mode, target)

    def sources(self, kinds):
        """64 lanes of each; 16-bit sources have other bits above."""
        lanes = []
        for kind in kinds:
            values = [corner(kind, self.rng) for _ in range(64)]
            if BITS[kind] == 16:
                values = [v | self.rng.getrandbits(16) << 16 for v in values]
            lanes.append(values)
        return lanes


def register(index, kind):
    return f'v[{index}:{index + 1}]' if BITS[kind] == 64 else f'v{index}'


def is_nan(kind, x):
    return kind in FORMATS and FORMATS[kind].is_nan(x)


def word(kind, x):
    return 'nan' if is_nan(kind, x) else hex(x)


def compress(values):
    """The shortest cycle."""
    for n in (1, 2, 4, 8, 16, 32):
        if values == values[:n] * (64 // n):
            return values[:n]
    return values


class Writer:
    def __init__(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.file = open(path, 'w')

    def case(self, name, targets, mode, kinds, lanes, assembly, expected):
        w = self.file.write
        w(f'case {name}\ntargets {" ".join(targets)}\nmode {mode:#x}\n')
        for i, (kind, values) in enumerate(zip(kinds, lanes)):
            w(f'{register(2 * i, kind)} = {" ".join(map(hex, compress(values)))}\n')
        w(f'v6 = {OLD:#x}\n---\n{assembly}\n---\n')
        for place, values in expected:
            w(f'{place} = {" ".join(compress(values))}\n')
        w('\n')


def result_lanes(result, values, keeps_high):
    """As registers hold them: 16-bit results with zeros or the old half above."""
    if BITS[result] != 16:
        return [word(result, v) for v in values]
    if not keeps_high:
        return [word(result, v) for v in values]
    return ['*' if is_nan(result, v) else hex(OLD & 0xffff0000 | v) for v in values]


def modified(kind, x, abs_, neg):
    f = FORMATS[kind]
    if abs_:
        x &= ~f.sign
    return x ^ f.sign if neg else x


def evaluate(model, m, sources):
    result, kinds, function = model
    return function(m, *(x & ((1 << BITS[kind]) - 1) for kind, x in zip(kinds, sources)))


def groups_of(targets):
    """Those with the same meaning and modifiers: GFX6 and GFX7, GFX8, GFX9."""
    groups = collections.defaultdict(list)
    for target in targets:
        groups['gfx7' if target < 'gfx8' else target[:4]].append(target)
    return groups.values()


def write_arithmetic(writer, opcode, fmt, targets, cases, rng):
    model = MODELS[opcode]
    result, kinds, _ = model
    floats = [kind for kind in kinds if kind in FORMATS]
    can_e64 = fmt in ('vop1', 'vop2', 'vop3')
    suffix = '_e64' if fmt in ('vop1', 'vop2') else ''
    dst = register(6, result)
    for group in groups_of(targets):
        keeps_high = opcode in KEEPS_HIGH and group[0] >= 'gfx9'
        for i in range(cases):
            def plain(name, mode, text, transform=lambda xs: xs, after=lambda m, v: v):
                case = Case(opcode, group[0], rng, mode)
                lanes = case.sources(kinds)
                values = []
                for lane in range(64):
                    sources = transform([l[lane] for l in lanes])
                    values.append(after(case.m, evaluate(model, case.m, sources)))
                writer.case(f'{opcode} {name} {i}', group, mode, kinds, lanes, text,
                            [(dst, result_lanes(result, values, keeps_high))])
            operands = [register(2 * k, kind) for k, kind in enumerate(kinds)]
            text = f'{opcode}{suffix} {dst}, ' + ', '.join(operands)
            plain('plain', 0x3c0, text)
            if floats or result in FORMATS:
                plain('mode', rng.choice(MODES), text)
            if not floats or not can_e64 or opcode in NO_MODIFIERS:
                continue
            mods = [(rng.randrange(2), rng.randrange(2)) if kind in FORMATS else (0, 0) for kind in kinds]
            spelled = [('-' if n else '') + (f'|{o}|' if a else o) for (a, n), o in zip(mods, operands)]
            plain('abs neg', rng.choice(MODES), f'{opcode}{suffix} {dst}, ' + ', '.join(spelled),
                  transform=lambda xs: [modified(kind, x & ((1 << BITS[kind]) - 1), *mod) if kind in FORMATS else x
                                        for kind, x, mod in zip(kinds, xs, mods)])
            if result not in FORMATS:
                continue
            plain('clamp', rng.choice(MODES), text + ' clamp', after=lambda m, v: clamp_result(m, result, v))
            # Three 16-bit sources take op_sel instead of omod on GFX9.
            if fmt == 'vop3' and 'f16' in kinds:
                continue
            omod = rng.choice(['mul:2', 'mul:4', 'div:2'])
            clamp = rng.randrange(2)
            plain('omod', rng.choice(OMOD_MODES), f'{text}{" clamp" if clamp else ""} {omod}',
                  after=lambda m, v: (lambda r: clamp_result(m, result, r) if clamp else r)(omod_result(m, result, v, omod)))
        if group[0] >= 'gfx8' and fmt in ('vop1', 'vop2') and all(BITS[k] <= 32 for k in kinds + [result]) and opcode not in NO_SDWA:
            for i in range(cases):
                write_sdwa(writer, opcode, model, group, rng, i)
                write_dpp(writer, opcode, model, group, rng, i)


SELECTS = {'BYTE_0': (0, 8), 'BYTE_1': (8, 8), 'BYTE_2': (16, 8), 'BYTE_3': (24, 8), 'WORD_0': (0, 16), 'WORD_1': (16, 16),
           'DWORD': (0, 32)}


def write_sdwa(writer, opcode, model, group, rng, number):
    result, kinds, _ = model
    mode = rng.choice(MODES)
    case = Case(opcode, group[0], rng, mode)
    lanes = case.sources(kinds)
    selects = [rng.choice(list(SELECTS)) for _ in kinds]
    dst_sel = rng.choice(list(SELECTS))
    unused = rng.choice(['UNUSED_PAD', 'UNUSED_SEXT', 'UNUSED_PRESERVE'])
    values = []
    for lane in range(64):
        sources = []
        for select, source in zip(selects, lanes):
            at, width = SELECTS[select]
            sources.append(source[lane] >> at & ((1 << width) - 1))
        value = evaluate(model, case.m, sources)
        at, width = SELECTS[dst_sel]
        field = ((1 << width) - 1) << at
        if is_nan(result, value) and (width != 32):
            values.append('*')
            continue
        if width == 32:
            values.append(word(result, value))
            continue
        placed = value << at & field
        if unused == 'UNUSED_PRESERVE':
            placed |= OLD & ~field & M32
        elif unused == 'UNUSED_SEXT' and placed >> (at + width - 1) & 1:
            placed |= ~((1 << (at + width)) - 1) & M32
        values.append(hex(placed))
    names = ' '.join(f'src{i}_sel:{select}' for i, select in enumerate(selects))
    operands = ', '.join(f'v{2 * k}' for k in range(len(kinds)))
    writer.case(f'{opcode} sdwa {number}', group, mode, kinds, lanes,
                f'{opcode}_sdwa v6, {operands} dst_sel:{dst_sel} dst_unused:{unused} {names}', [('v6', values)])


def dpp_source(control, argument, lane):
    """The lane that DPP reads, or None (Vega ISA manual, "DPP")."""
    row, within = lane & ~15, lane & 15
    if control == 'quad_perm':
        return lane & ~3 | argument[lane & 3]
    if control == 'row_shl':
        return lane + argument if within + argument < 16 else None
    if control == 'row_shr':
        return lane - argument if within >= argument else None
    if control == 'row_ror':
        return row | (within - argument) % 16
    if control == 'row_mirror':
        return row | 15 - within
    if control == 'row_half_mirror':
        return lane & ~7 | 7 - (lane & 7)
    if control == 'wave_shl':
        return lane + 1 if lane < 63 else None
    if control == 'wave_rol':
        return (lane + 1) % 64
    if control == 'wave_shr':
        return lane - 1 if lane > 0 else None
    if control == 'wave_ror':
        return (lane - 1) % 64
    if control == 'row_bcast' and argument == 15:
        return row - 1 if row > 0 else None
    return 31 if lane >= 32 else None  # row_bcast:31


def write_dpp(writer, opcode, model, group, rng, number):
    result, kinds, _ = model
    mode = rng.choice(MODES)
    case = Case(opcode, group[0], rng, mode)
    lanes = case.sources(kinds)
    control = rng.choice(['quad_perm', 'row_shl', 'row_shr', 'row_ror', 'row_mirror', 'row_half_mirror', 'wave_shl',
                          'wave_rol', 'wave_shr', 'wave_ror', 'row_bcast'])
    argument, text = None, control
    if control == 'quad_perm':
        argument = [rng.randrange(4) for _ in range(4)]
        text = f'quad_perm:[{",".join(map(str, argument))}]'
    elif control == 'row_bcast':
        argument = rng.choice([15, 31])
        text = f'row_bcast:{argument}'
    elif control in ('row_shl', 'row_shr', 'row_ror'):
        argument = rng.randrange(1, 16)
        text = f'{control}:{argument}'
    elif control.startswith('wave'):
        text = f'{control}:1'
    rows, banks = rng.choice([15, 15, rng.randrange(16)]), rng.choice([15, 15, rng.randrange(16)])
    bound = rng.randrange(2)
    values = []
    for lane in range(64):
        source = dpp_source(control, argument, lane)
        if not rows >> lane // 16 & 1 or not banks >> lane % 16 // 4 & 1 or (source is None and not bound):
            values.append(hex(OLD))
            continue
        sources = [l[lane] for l in lanes]
        sources[0] = 0 if source is None else lanes[0][source]
        values.append(word(result, evaluate(model, case.m, sources)))
    operands = ', '.join(f'v{2 * k}' for k in range(len(kinds)))
    writer.case(f'{opcode} dpp {number}', group, mode, kinds, lanes,
                f'{opcode}_dpp v6, {operands} {text} row_mask:{rows:#x} bank_mask:{banks:#x}' +
                (' bound_ctrl:0' if bound else ''), [('v6', values)])


def write_compare(writer, opcode, targets, cases, rng):
    kind0, kind1, function = COMPARES[opcode]
    for i in range(cases):
        for modifiers in (False, True):
            if modifiers and kind0 not in FORMATS:
                continue
            mode = rng.choice(MODES)
            case = Case(opcode, targets[0], rng, mode)
            lanes = case.sources([kind0, kind1])
            mods = [(0, 0), (0, 0)]
            if modifiers:
                mods = [(rng.randrange(2), rng.randrange(2)) if kind in FORMATS else (0, 0) for kind in (kind0, kind1)]
            mask = 0
            for lane in range(64):
                a, b = (modified(kind, l[lane] & ((1 << BITS[kind]) - 1), *mod) if kind in FORMATS
                        else l[lane] & ((1 << BITS[kind]) - 1)
                        for kind, l, mod in zip((kind0, kind1), lanes, mods))
                mask |= function(case.m, a, b) << lane
            spelled = [('-' if n else '') + (f'|{o}|' if a else o)
                       for (a, n), o in zip(mods, (register(0, kind0), register(2, kind1)))]
            for x in ('', 'x'):
                name = opcode.replace('v_cmp_', f'v_cmp{x}_')
                expected = [('s[8:9]', [hex(mask)])] + ([('exec', [hex(mask)])] if x else [])
                writer.case(f'{name} {i}', targets, mode, [kind0, kind1], lanes,
                            f'{name}_e64 s[8:9], {", ".join(spelled)}', expected)


# Legal modifiers beyond what follows from the types, as in the tables of frontend/isa.
NO_MODIFIERS = {'v_cvt_pk_u8_f32', 'v_cvt_pknorm_i16_f32', 'v_cvt_pknorm_u16_f32', 'v_sat_pk_u8_i16'}
# VOP3 on some of the processors, where VOP2 on the others.
NO_SDWA = {'v_bcnt_u32_b32', 'v_bfm_b32', 'v_cvt_pk_i16_i32', 'v_cvt_pk_u16_u32', 'v_cvt_pknorm_i16_f32',
           'v_cvt_pknorm_u16_f32', 'v_ldexp_f32', 'v_mul_legacy_f32'}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--table', required=True)
    parser.add_argument('--out', required=True)
    parser.add_argument('--cases', type=int, default=2)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', default='')
    args = parser.parse_args()
    available, formats = collections.defaultdict(list), {}
    with open(args.table) as table:
        for row in csv.DictReader(table):
            formats[row['instruction']] = row['format']
            if row['target'] in TARGETS:
                available[row['instruction']].append(row['target'])
    modelled = 0
    for opcode in list(MODELS) + list(COMPARES):
        if not re.search(args.only, opcode) or not available[opcode]:
            continue
        fmt = formats[opcode]
        rng = random.Random(f'{opcode} {args.seed}')
        writer = Writer(f'{args.out}/{fmt}/{opcode}.isa')
        if opcode in COMPARES:
            write_compare(writer, opcode, available[opcode], args.cases, rng)
        else:
            write_arithmetic(writer, opcode, fmt, available[opcode], args.cases, rng)
        writer.file.close()
        modelled += 1
    print(f'{modelled} opcodes, seed {args.seed}')


if __name__ == '__main__':
    main()
