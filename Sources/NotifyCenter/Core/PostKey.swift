/// The name and object of a post with their hashes, so that repeated look-ups of its resolution do not hash them again.
/// Valid as long as the pointers are valid.
package struct PostKey {
    package let name: UnsafeRawBufferPointer
    package let object: UnsafeRawBufferPointer?
    let nameHash: UInt64
    /// The hash of the name and the object.
    let hash: UInt64

    /// - Parameters:
    ///   - name: A valid name, or any bytes if all registrations are for exact names.
    ///   - object: The object of the post, or nil.
    @inline(__always)
    package init(name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?) {
        let hasher = KeyedHash.ofProcess
        let nameHash = hasher(name)
        self.init(
            name: name, object: object, nameHash: nameHash, hash: object.map { hasher(nameHash, then: $0) } ?? nameHash)
    }

    init(name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?, nameHash: UInt64, hash: UInt64) {
        self.name = name
        self.object = object
        self.nameHash = nameHash
        self.hash = hash
    }
}
