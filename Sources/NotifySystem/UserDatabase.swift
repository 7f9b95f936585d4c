package import Glibc

/// The users and groups of this machine, from all sources that the system is configured for.
package enum UserDatabase {
    /// Entries larger than this are treated as missing. Groups with tens of thousands of members fit.
    private static let maximumEntryBytes = 4 << 20

    /// The uid of a user; `nil` if there is no such user.
    package static func uid(ofUser name: String) -> uid_t? {
        entry(passwd()) { entry, buffer, bytes, found in
            getpwnam_r(name, entry, buffer, bytes, found)
        }?.pw_uid
    }

    /// The gid of a group; `nil` if there is no such group.
    package static func gid(ofGroup name: String) -> gid_t? {
        entry(group()) { entry, buffer, bytes, found in
            getgrnam_r(name, entry, buffer, bytes, found)
        }?.gr_gid
    }

    /// Looks up an entry with a buffer that grows until the entry fits.
    ///
    /// - Returns: The entry; only its numbers may be used, because its pointers are no longer valid. `nil` if there is
    ///   no entry.
    private static func entry<Entry>(
        _ empty: Entry,
        _ lookUp: (
            UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, _ bytes: Int,
            UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
        ) -> Int32
    ) -> Entry? {
        var bytes = 4096
        while bytes <= maximumEntryBytes {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: bytes)
            defer { buffer.deallocate() }
            var entry = empty
            var found: UnsafeMutablePointer<Entry>?
            let result = withUnsafeMutablePointer(to: &entry) { lookUp($0, buffer, bytes, &found) }
            if result == 0 { return found == nil ? nil : entry }
            guard result == ERANGE else { return nil }
            bytes *= 4
        }
        return nil
    }
}
