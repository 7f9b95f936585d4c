/// The parts of a message, in place. They point into a buffer and must not outlive it.
package struct MessageParts {
    package var name: UnsafeRawBufferPointer
    /// The object; empty if the message has none.
    package var object: UnsafeRawBufferPointer
    /// The message id; empty if the message has none.
    package var messageID: UnsafeRawBufferPointer
    /// The headers, encoded as `HeaderList` describes.
    package var headers: UnsafeRawBufferPointer
    package var payload: UnsafeRawBufferPointer

    @inlinable
    package init(
        name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer, messageID: UnsafeRawBufferPointer,
        headers: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer
    ) {
        self.name = name
        self.object = object
        self.messageID = messageID
        self.headers = headers
        self.payload = payload
    }

    @inlinable
    package var byteCount: Int {
        name.count + object.count + messageID.count + headers.count + payload.count
    }

    /// Slices `rest` into parts of the given lengths; the payload is the remainder.
    ///
    /// - Returns: nil if `rest` is shorter than the sum of the lengths.
    @inlinable
    init?(
        splitting rest: UnsafeRawBufferPointer, nameLength: UInt8, objectLength: UInt8, messageIDLength: UInt8,
        headersLength: UInt16
    ) {
        let nameEnd = Int(nameLength)
        let objectEnd = nameEnd + Int(objectLength)
        let messageIDEnd = objectEnd + Int(messageIDLength)
        let headersEnd = messageIDEnd + Int(headersLength)
        guard headersEnd <= rest.count else { return nil }
        name = rest.slice(0, nameEnd)
        object = rest.slice(nameEnd, objectEnd)
        messageID = rest.slice(objectEnd, messageIDEnd)
        headers = rest.slice(messageIDEnd, headersEnd)
        payload = rest.slice(from: headersEnd)
    }
}
