import NotifyWire

extension NotificationClient {
    /// A message's headers: key-value pairs with unique keys, in the poster's order.
    ///
    /// A message has at most 64 headers, with at most 16 KiB in total when encoded. Keys are 1 to 255 bytes of UTF-8
    /// without control characters, compared by their bytes.
    public struct Headers: Sendable, RandomAccessCollection, ExpressibleByDictionaryLiteral {
        private var entries: [(key: String, value: String)]

        /// No headers.
        public init() {
            entries = []
        }

        /// Makes headers in the order given. ``OutgoingMessage`` checks them against the rules.
        public init(_ entries: [(key: String, value: String)]) {
            self.entries = entries
        }

        /// Makes headers in the order given. ``OutgoingMessage`` checks them against the rules.
        public init(dictionaryLiteral elements: (String, String)...) {
            entries = elements.map { (key: $0.0, value: $0.1) }
        }

        /// The index of the first header.
        public var startIndex: Int { entries.startIndex }
        /// The index after the last header.
        public var endIndex: Int { entries.endIndex }

        /// The header at a position.
        public subscript(position: Int) -> (key: String, value: String) { entries[position] }

        /// The value of a key; `nil` if there is none. Setting a value replaces the old one in place, or appends a
        /// header. Setting `nil` removes the header.
        public subscript(key: String) -> String? {
            get { entries.first { $0.key.utf8.elementsEqual(key.utf8) }?.value }
            set {
                let index = entries.firstIndex { $0.key.utf8.elementsEqual(key.utf8) }
                switch (index, newValue) {
                case (let index?, let value?): entries[index].value = value
                case (let index?, nil): entries.remove(at: index)
                case (nil, let value?): entries.append((key, value))
                case (nil, nil): break
                }
            }
        }

        /// The headers in the encoding of the protocol.
        func encoded() throws(NotifyError) -> [UInt8] {
            guard !entries.isEmpty else { return [] }
            do {
                return try HeaderList.encode(entries)
            } catch {
                throw NotifyError(error)
            }
        }
    }
}
