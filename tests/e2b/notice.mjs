// SPDX-License-Identifier: Apache-2.0
// images/NOTICE: whether it has a row for a library of a program.

const NAMES = { c: 'glibc', 'ld-linux-x86-64': 'glibc', m: 'glibc', websockets: 'libwebsockets', crypto: 'OpenSSL', ssl: 'OpenSSL', cjson: 'cJSON', z: 'zlib',
  'pcre2-8': 'PCRE2', seccomp: 'libseccomp', archive: 'libarchive', zstd: 'Zstandard', isal: 'ISA-L', yaml: 'libyaml', curl: 'libcurl', cares: 'c-ares',
  cap: 'libcap', nettle: 'Nettle', acl: 'libacl', lzma: 'liblzma', lz4: 'LZ4', bz2: 'bzip2', xml2: 'libxml2' };

// library: as the linker knows it, without "lib" and ending
export function noticed(notice, library, program) {
  const rows = notice.split('\n').filter((line) => line.startsWith(`${NAMES[library] ?? library} `));

  return rows.some((row) => row.includes('all but') || row.split(/\s{2,}/).at(-1).split(', ').includes(program));
}
