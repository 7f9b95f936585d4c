/// The name and the object of a post with their hash, for looking up a resolution more than once. Valid as long as the bytes
/// are.
package struct PostKey {
    package let name: UnsafeRawBufferPointer
    package let object: UnsafeRawBufferPointer?
    let nameHash: UInt64
    /// Of the name and the object.
    let hash: UInt64

    /// - Parameters:
    ///   - name: A valid name, or any bytes where all names are exact.
    ///   - object: The object of the post, if it has one.
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
