import Foundation
import NotifyCenter

extension NotificationName {
    /// The name in the underlying center. Names are equal there if their bytes are, and in Foundation if they are
    /// canonically equivalent, as strings are: so it has the precomposed form.
    @inline(__always)
    init(_ name: NSNotification.Name) {
        let string = name.rawValue
        self.init(unchecked: string.isASCII ? string : string.precomposedStringWithCanonicalMapping)
    }
}

extension String {
    /// Whether all characters are ASCII, which have one form only.
    @inline(__always)
    fileprivate var isASCII: Bool {
        utf8.withContiguousStorageIfAvailable { $0.reduce(0, |) < 0x80 } ?? false
    }
}
