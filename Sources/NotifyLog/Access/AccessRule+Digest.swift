extension [AccessRule] {
    /// The 64-bit FNV-1a hash of the rules as text, which is the same in every process. The files with the rules are
    /// trusted, so the hash needs no key.
    var digest: UInt64 {
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        for rule in self {
            for byte in "\(rule)\n".utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
        return digest
    }
}
