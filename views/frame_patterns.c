// SPDX-License-Identifier: Apache-2.0
#include "views/frame_patterns.h"

// clang-format off
#define ROW(class, via, without, text, module, is_rust, role) \
	{ FRAME_##class, via, without, text, module, is_rust, ROLE_##role }
#define ALWAYS(class, via, text)         ROW(class, via, NULL, text, NULL, false, NONE)
#define PAIRS(via, without, text)        ROW(CONTAINER, via, without, text, NULL, false, NONE)
#define WITHIN(module, class, via, text) ROW(class, via, NULL, text, module, false, NONE)
#define RUST(class, via, text)           ROW(class, via, NULL, text, NULL, true, NONE)
#define PLACE(class, text)               ROW(class, NULL, NULL, text, NULL, false, NONE)
// In a module, NULL = in all.
#define INTERPRETER(module, text)        ROW(RUNTIME, "interpreter", NULL, text, module, false, INTERPRETER)
#define START(text)                      ROW(RUNTIME, "start of a program or thread", NULL, text, NULL, false, START)
// clang-format on

const struct frame_pattern frame_patterns[] = {
	// malloc and its relatives, in all spellings
	ALWAYS(ALLOCATOR, NULL,
	       "{,__,__libc_,__GI___libc_,je_,_rjem_,_rjem_je_,tc_,mi_,rp,dl,scalable_,__interceptor_}{malloc,"
	       "calloc,realloc,free,memalign,valloc,pvalloc,cfree,reallocarray,posix_memalign,aligned_alloc,"
	       "malloc_usable_size}"),
	ALWAYS(ALLOCATOR, NULL,
	       "{moz_x,moz_arena_,sn_}{malloc,calloc,realloc,free,memalign,valloc,posix_memalign,"
	       "aligned_alloc,strdup,strndup,memdup}"),
	ALWAYS(ALLOCATOR, NULL, "{rpmalloc_heap_*,rpzalloc,rpaligned_*,sn_rust_*,mi_strdup,mi_strndup,mi_free_*}"),
	ALWAYS(ALLOCATOR, NULL,
	       "{_int_malloc,_int_calloc,_int_realloc,_int_free*,_int_memalign,_mid_memalign,tcache_get*,"
	       "tcache_put*,tcache_init,sysmalloc*,sysmalloc_mmap*,systrim,unlink_chunk,alloc_perturb,mremap_chunk,"
	       "munmap_chunk}"),
	ALWAYS(ALLOCATOR, NULL,
	       "{malloc_hook_ini,realloc_hook_ini,memalign_hook_ini,malloc_check,calloc_check,malloc_consolidate,"
	       "arena_get2,ptmalloc_init,tcache_thread_shutdown}"),
	WITHIN("ld-musl", ALLOCATOR, NULL, "{default_malloc,__malloc_alloc_meta,alloc_slot,alloc_group,enframe}"),
	ALWAYS(ALLOCATOR, NULL, "{je_,_rjem_,_rjem_je_,}{mallocx,rallocx,xallocx,sallocx,dallocx,sdallocx,nallocx}"),
	ALWAYS(ALLOCATOR, NULL,
	       "{je_arena_*,je_tcache_*,je_large_*,arena_malloc_hard,imalloc_*,malloc_default,mi_heap_*,_mi_*,"
	       "mi_new*,mi_malloc_*,mi_zalloc*,mi_mallocn,tc_new*,tc_delete*,tc_malloc_*,tc_free_*,tcmalloc::*}"),
	ALWAYS(ALLOCATOR, NULL, "{mmap,mmap64,__mmap,__mmap64,mremap,__mremap,munmap,__munmap,sbrk,__sbrk,brk,__brk}"),
	ALWAYS(ALLOCATOR, NULL, "operator {new,delete,new[],delete[]}"),
	ALWAYS(ALLOCATOR, NULL, "*::operator {new,delete,new[],delete[]}"),

	// C++: allocators of the library
	ALWAYS(ALLOCATOR, NULL,
	       "std::{allocator,allocator_traits,__new_allocator,pmr::polymorphic_allocator,"
	       "scoped_allocator_adaptor,__allocator,__allocation_guard,__allocate_guarded,__allocated_ptr}::*"),
	ALWAYS(ALLOCATOR, NULL,
	       "__gnu_cxx::{new_allocator,malloc_allocator,__alloc_traits,__mt_alloc,__pool_alloc,bitmap_allocator,"
	       "debug_allocator,__aligned_membuf,__aligned_buffer}::*"),
	ALWAYS(ALLOCATOR, NULL,
	       "std::{__libcpp_allocate,__libcpp_deallocate,__libcpp_operator_new,__libcpp_operator_delete,"
	       "__allocate_at_least,allocate_at_least,__allocate_guarded,__do_deallocate_handle_size,"
	       "get_temporary_buffer}"),
	ALWAYS(ALLOCATOR, NULL, "std::pmr::*"),
	ALWAYS(CONTAINER, NULL, "__gnu_cxx::*"),

	// C++: containers, strings, pointers
	ALWAYS(CONTAINER, "std::string",
	       "std::{basic_string,string,basic_string_view,char_traits,__str_concat,__basic_string_common,"
	       "__cow_string}::*"),
	ALWAYS(CONTAINER, "std::string",
	       "std::{operator+,to_string,to_wstring,__str_concat,getline,stoi,stol,stod,__string_from_chars}"),
	ALWAYS(CONTAINER, "vector",
	       "std::{vector,_Vector_base,__vector_base,__split_buffer,_Bvector_base,__vector_base_common}::*"),
	ALWAYS(CONTAINER, "deque", "std::{deque,_Deque_base,__deque_base,_Deque_iterator,__deque_iterator}::*"),
	ALWAYS(CONTAINER, "list", "std::{list,_List_base,__list_imp,_List_node,__detail::_List_node_base}::*"),
	ALWAYS(CONTAINER, "forward_list", "std::{forward_list,_Fwd_list_base,__forward_list_base,_Fwd_list_node}::*"),
	ALWAYS(CONTAINER, "map", "std::{map,multimap}::*"),
	ALWAYS(CONTAINER, "set", "std::{set,multiset}::*"),
	PAIRS("map", "set",
	      "std::{_Rb_tree,_Rb_tree_node,_Rb_tree_iterator,__tree,__tree_node,__map_value_compare}::*"),
	ALWAYS(CONTAINER, "unordered_map",
	       "std::{unordered_map,unordered_multimap,__detail::_Map_base,__hash_map_hasher,"
	       "__unordered_map_hasher}::*"),
	ALWAYS(CONTAINER, "unordered_set", "std::{unordered_set,unordered_multiset}::*"),
	PAIRS("unordered_map", "unordered_set",
	      "std::{_Hashtable,__hash_table,__detail::_Hashtable_alloc,__detail::_Insert,__detail::_Insert_base,"
	      "__detail::_ReuseOrAllocNode,__detail::_AllocNode,__detail::_Hash_node}::*"),
	ALWAYS(CONTAINER, "queue", "std::{queue,priority_queue}::*"),
	ALWAYS(CONTAINER, "stack", "std::stack::*"),
	ALWAYS(CONTAINER, "valarray", "std::valarray::*"),
	ALWAYS(CONTAINER, "bitset", "std::bitset::*"),
	ALWAYS(CONTAINER, "make_shared", "std::{make_shared,allocate_shared,make_shared_for_overwrite}"),
	ALWAYS(CONTAINER, "make_unique", "std::{make_unique,make_unique_for_overwrite}"),
	ALWAYS(CONTAINER, "shared_ptr",
	       "std::{shared_ptr,weak_ptr,__shared_ptr,__weak_ptr,__shared_count,__weak_count,_Sp_counted_base,"
	       "_Sp_counted_ptr,_Sp_counted_ptr_inplace,_Sp_counted_deleter,__shared_ptr_emplace,"
	       "__shared_ptr_pointer,enable_shared_from_this}::*"),
	ALWAYS(CONTAINER, "unique_ptr", "std::{unique_ptr,__uniq_ptr_impl,__uniq_ptr_data,default_delete}::*"),
	ALWAYS(CONTAINER, "optional", "std::{optional,_Optional_base,_Optional_payload,_Optional_payload_base}::*"),
	ALWAYS(CONTAINER, "pair", "std::pair::*"),
	ALWAYS(CONTAINER, "tuple", "std::{tuple,_Tuple_impl,_Head_base}::*"),
	ALWAYS(CONTAINER, "std::any", "std::{any,any::_Manager_external,make_any}::*"),
	ALWAYS(CONTAINER, "std::variant", "std::__detail::__variant::*"),
	ALWAYS(CONTAINER, NULL,
	       "std::{construct_at,_Construct,_Destroy,_Destroy_aux,destroy_at,__do_uninit_copy,__do_uninit_fill_n,"
	       "__uninitialized_*,uninitialized_*,__relocate_*,__fill*,fill_n,fill,copy,move,__copy_*,__niter_*}"),
	ALWAYS(CONTAINER, NULL,
	       "std::{_Destroy_aux,__uninitialized_copy,__uninitialized_fill_n,__uninitialized_default_n_1,"
	       "__copy_move,__copy_move_backward,back_insert_iterator,insert_iterator}::*"),
	// C++: what calls the user's code, and input and output. Not containers: own code may be below them.
	ALWAYS(RUNTIME, "std::function",
	       "std::{function,_Function_handler,_Function_base,_Function_base::_Base_manager,_Bind,_Bind_front,"
	       "_Mem_fn_base,move_only_function}::*"),
	ALWAYS(RUNTIME, NULL, "std::__function::*"),
	ALWAYS(RUNTIME, NULL, "std::{__invoke*,invoke*,__apply*,apply,bind,mem_fn,ref}"),
	ALWAYS(RUNTIME, NULL, "std::{_Mem_fn,__invoke_result,reference_wrapper,__invoke_void_return_wrapper}::*"),
	ALWAYS(RUNTIME, "std::thread", "std::{thread,jthread,__thread_proxy,__thread_struct,__thread_execute}*"),
	ALWAYS(RUNTIME, "std::async",
	       "std::{async,future,shared_future,promise,packaged_task,__future_base,__basic_future,__assoc_state,"
	       "__async_assoc_state}*"),
	ALWAYS(RUNTIME, NULL, "std::{call_once,once_flag,__call_once,__call_once_proxy}*"),
	ALWAYS(RUNTIME, NULL, "{execute_native_thread_routine,execute_native_thread_routine_compat}"),
	ALWAYS(LIBRARY, "iostream",
	       "std::{basic_,}{ios,ostream,istream,iostream,streambuf,stringbuf,stringstream,ostringstream,"
	       "istringstream,filebuf,fstream,ofstream,ifstream}::*"),
	ALWAYS(LIBRARY, "iostream",
	       "std::{operator<<,operator>>,endl,ends,flush,__ostream_insert,__ostream_write,ios_base::*,"
	       "__basic_file::*,num_put::*,num_get::*}"),
	ALWAYS(LIBRARY, "std::locale", "std::locale::*"),
	ALWAYS(LIBRARY, "std::regex",
	       "std::{regex,basic_regex,regex_traits,match_results,__detail::_Compiler,__detail::_NFA,"
	       "__detail::_Executor}::*"),
	ALWAYS(LIBRARY, "filesystem", "std::filesystem::*"),
	ALWAYS(LIBRARY, NULL, "std::*"),
	ALWAYS(LIBRARY, NULL, "__cxxabiv1::*"),
	ALWAYS(LIBRARY, NULL, "__cxa_*"),
	ALWAYS(LIBRARY, NULL, "{_Unwind_*,__gxx_personality_*,__gthread_*}"),
	// names too long to be demangled are nearly always of templates of std
	ALWAYS(LIBRARY, NULL, "{_ZNSt*,_ZNKSt*,_ZSt*,_ZNSa*,_ZNSs*,_ZN9__gnu_cxx*,_ZNK9__gnu_cxx*}"),

	// other C++ libraries
	ALWAYS(CONTAINER, NULL,
	       "boost::{container,unordered,multi_index,intrusive,circular_buffer,ptr_container,ptr_vector,"
	       "dynamic_bitset,property_tree}::*"),
	ALWAYS(CONTAINER, NULL,
	       "boost::{make_shared,allocate_shared,make_unique,shared_ptr::*,scoped_ptr::*,intrusive_ptr::*,"
	       "detail::shared_count::*,detail::sp_counted_*,pool::*,object_pool::*,fast_pool_allocator::*,"
	       "pool_allocator::*,singleton_pool::*}"),
	ALWAYS(LIBRARY, NULL, "boost::*"),
	ALWAYS(CONTAINER, NULL,
	       "absl::{container_internal,strings_internal,cord_internal,inlined_vector_internal,InlinedVector,"
	       "FixedArray,Cord,flat_hash_map,flat_hash_set,node_hash_map,node_hash_set,btree_map,btree_set}::*"),
	ALWAYS(CONTAINER, NULL, "absl::{StrCat,StrAppend,StrJoin,StrFormat,Substitute}"),
	ALWAYS(LIBRARY, NULL, "absl::*"),
	ALWAYS(CONTAINER, NULL,
	       "folly::{fbstring*,basic_fbstring*,fbvector*,small_vector*,F14*,f14::*,IOBuf*,sorted_vector_*}"),
	ALWAYS(WRAPPER, NULL, "folly::{checkedMalloc,checkedCalloc,checkedRealloc,smartRealloc,goodMallocSize}"),
	ALWAYS(LIBRARY, NULL, "folly::*"),
	ALWAYS(LIBRARY, NULL,
	       "{fmt::v*,fmt::detail::*,spdlog::details::*,google::protobuf::*,grpc_core::*,Eigen::internal::*,"
	       "nlohmann::*,tbb::*,rapidjson::*}"),
	ALWAYS(WRAPPER, NULL,
	       "{google::protobuf::Arena*,google::protobuf::internal::Arena*,"
	       "google::protobuf::internal::ThreadSafeArena*,rapidjson::CrtAllocator::*,"
	       "rapidjson::MemoryPoolAllocator::*,Eigen::internal::aligned_*,Eigen::internal::conditional_aligned_*,"
	       "Eigen::internal::handmade_aligned_*}"),
	ALWAYS(WRAPPER, NULL,
	       "llvm::{allocate_buffer,safe_malloc,safe_calloc,safe_realloc,BumpPtrAllocatorImpl::*,"
	       "MallocAllocator::*,AllocatorBase::*,SpecificBumpPtrAllocator::*,RecyclingAllocator::*,Recycler::*}"),
	ALWAYS(CONTAINER, NULL,
	       "llvm::{SmallVector,SmallString,StringMap,DenseMap,DenseSet,FoldingSet,MapVector,SetVector,APInt,"
	       "TinyPtrVector,SmallPtrSet,ImmutableMap,SparseSet,IntervalMap,iplist,BitVector,StringSet,"
	       "UniqueVector,PagedVector}*"),
	ALWAYS(WRAPPER, NULL, "clang::ASTContext::{Allocate,AllocateDeclListNode,Deallocate}"),

	// Qt
	ALWAYS(WRAPPER, NULL,
	       "{QArrayData::*,QTypedArrayData::*,QArrayDataPointer::*,QArrayDataOps::*,QtPrivate::QPodArrayOps::*,"
	       "QtPrivate::QGenericArrayOps::*,QtPrivate::QMovableArrayOps::*,QtPrivate::QCommonArrayOps::*,"
	       "qMallocAligned,qReallocAligned,qMalloc,qRealloc,QtSharedPointer::*}"),
	ALWAYS(CONTAINER, NULL,
	       "Q{List,Vector,String,ByteArray,Hash,Map,MultiHash,MultiMap,Set,Stack,Queue,LinkedList,"
	       "VarLengthArray,StringList,StringBuilder,SharedPointer,SharedDataPointer,WeakPointer,BitArray,Cache,"
	       "ListData,HashData,MapDataBase,MapData,Pair}::*"),
	ALWAYS(CONTAINER, NULL, "QHashPrivate::*"),
	ALWAYS(RUNTIME, NULL,
	       "{QMetaObject::*,QCoreApplication::*,QApplication::*,QGuiApplication::*,QEventLoop::*,"
	       "QThreadPrivate::*,QtPrivate::*,QEventDispatcher*,QMetaMethod::*,QThread::exec}"),

	// Rust, both ways of mangling
	ALWAYS(ALLOCATOR, NULL,
	       "{__rust_alloc,__rust_alloc_zeroed,__rust_realloc,__rust_dealloc,__rdl_*,__rg_*,"
	       "__rust_no_alloc_shim_is_unstable}"),
	RUST(ALLOCATOR, NULL,
	     "{__rustc::*,alloc::alloc::*,core::alloc::*,std::alloc::*,std::sys::alloc::*,"
	     "std::sys::unix::alloc::*,std::sys::pal::unix::alloc::*,std::sys_common::alloc::*}"),
	RUST(CONTAINER, "Vec", "alloc::{vec,raw_vec,slice}::*"),
	RUST(CONTAINER, "String", "alloc::{string,str,fmt}::*"),
	RUST(CONTAINER, "Box",
	     "alloc::boxed::{Box::new,Box::new_uninit,Box::from,Box::clone,Box::pin,Box::drop,Box::new_in,"
	     "Box::try_new_uninit_in,Box::new_uninit_in,box_new}"),
	RUST(CONTAINER, "Rc", "alloc::rc::*"),
	RUST(CONTAINER, "Arc", "alloc::sync::*"),
	RUST(CONTAINER, "BTreeMap", "alloc::collections::btree::*"),
	RUST(CONTAINER, "VecDeque", "alloc::collections::vec_deque::*"),
	RUST(CONTAINER, "LinkedList", "alloc::collections::linked_list::*"),
	RUST(CONTAINER, "BinaryHeap", "alloc::collections::binary_heap::*"),
	RUST(CONTAINER, NULL, "alloc::{collections,borrow,ffi}::*"),
	RUST(RUNTIME, NULL, "alloc::*"), // Box<dyn FnOnce()>::call_once among them
	RUST(CONTAINER, "HashMap", "{hashbrown::*,std::collections::hash::*,std::collections::*}"),
	RUST(RUNTIME, NULL, "core::*"), // iterators and calls of closures
	RUST(RUNTIME, NULL,
	     "{std::rt::*,std::sys_common::*,std::panicking::*,std::panic::*,std::sys::*,std::thread::*,"
	     "std::backtrace*,std::once::*,std::sync::*}"),
	RUST(LIBRARY, "std::io", "std::{io,fs,net,env,process,path,ffi,time,os}::*"),
	ALWAYS(RUNTIME, NULL,
	       "{rust_begin_unwind,__rust_try,rust_panic,__rust_begin_short_backtrace,__rust_start_panic,rust_eh_personality,"
	       "lang_start}"),
	RUST(RUNTIME, NULL,
	     "{serde::*,serde_json::*,tokio::runtime::*,tokio::task::*,tokio::park::*,rayon_core::*,"
	     "rayon::iter::*,crossbeam_*,futures_util::*,futures_core::*,futures_executor::*,backtrace::*,"
	     "gimli::*,addr2line::*}"),
	RUST(CONTAINER, NULL, "{bytes::*,smallvec::*,indexmap::*,arrayvec::*,bstr::*,dashmap::*,ahash::*,smol_str::*}"),

	// glib
	ALWAYS(WRAPPER, NULL,
	       "{g_malloc*,g_try_malloc*,g_realloc*,g_try_realloc*,g_free*,g_slice_*,g_aligned_*,g_memdup*,g_mem_*,"
	       "g_clear_pointer,g_steal_pointer,thread_memory_*,magazine_cache_*,slab_allocator_*}"),
	ALWAYS(CONTAINER, NULL, "g_str{dup*,ndup,joinv,join,split*,concat,nfill,escape,compress,freev}"),
	ALWAYS(CONTAINER, NULL, "{g_build_filename*,g_build_path*,g_vasprintf,g_ascii_str*,g_utf8_str*,g_convert*}"),
	ALWAYS(CONTAINER, NULL,
	       "g_{list,slist,queue,hash_table,array,ptr_array,byte_array,bytes,string,tree,sequence,node,datalist,"
	       "dataset,quark,intern,variant,strv_builder,string_chunk,rc_box,atomic_rc_box,ref_string,async_queue,"
	       "trash_stack,cache,completion}_*"),
	ALWAYS(RUNTIME, NULL,
	       "{g_main_*,g_thread_*,g_application_run,g_closure_invoke,g_signal_emit*,g_cclosure_marshal*,"
	       "g_object_new*,g_type_create_instance,g_source_*,g_idle_*,g_timeout_*,gtk_main,g_task_*}"),

	// wrappers of C programs
	ALWAYS(WRAPPER, NULL,
	       "{,_,__}{x,xx,z,e,s,q,r,ck_,chk_,safe_,checked_,my_,mem_,must_,try,try_,xtry,zz,zone_,util_,emalloc_,"
	       "sane_,check_}{malloc,calloc,realloc,reallocarray,zalloc,memalign,strdup,strndup,memdup}"),
	ALWAYS(WRAPPER, NULL, "{,_,__}{x,ck_,safe_,checked_,my_}{alloc,asprintf,vasprintf,free}"),
	ALWAYS(WRAPPER, NULL,
	       "{xcharalloc,xnmalloc,xnrealloc,xireallocarray,xicalloc,ximalloc,xizalloc,x2nrealloc,x2realloc,"
	       "xmalloc0,xmallocz,xmallocarray,xpalloc,xalloc_die,xmemdup0,xmemdupz,ximemdup,emalloc,ecalloc,"
	       "erealloc,estrdup,smalloc,srealloc,malloc_or_die,calloc_or_die,realloc_or_die,die_malloc,"
	       "cJSON_malloc,mallocz,callocz,reallocz,strdupz,av_malloc,av_mallocz,av_calloc,av_realloc,"
	       "av_realloc_f,av_realloc_array,av_reallocp,av_strdup,av_malloc_array,av_mallocz_array}"),
	ALWAYS(WRAPPER, NULL,
	       "{zmalloc_usable,zcalloc_usable,zrealloc_usable,ztrymalloc,ztrycalloc,ztryrealloc,ztrymalloc_usable,"
	       "ztrycalloc_usable,ztryrealloc_usable,ztrymalloc_usable_internal,ztrycalloc_usable_internal,"
	       "ztryrealloc_usable_internal,zmalloc_cache_aligned,zcalloc_num,zmalloc_no_tcache,zfree,"
	       "extend_to_usable,valkey_malloc,valkey_calloc,valkey_realloc,hi_malloc,hi_calloc,hi_realloc,"
	       "hi_strdup}"),
	ALWAYS(WRAPPER, NULL,
	       "apr_{palloc,pcalloc,palloc_debug,pcalloc_debug,allocator_alloc,pool_create*,pmemdup,bucket_alloc}"),
	WITHIN("apr-", WRAPPER, NULL, "{allocator_alloc,pool_alloc,pool_calloc,apr_allocator_free,apr_pool_*}"),
	ALWAYS(CONTAINER, NULL, "apr_{table,array,hash,brigade,bucket,skiplist}_*"),
	ALWAYS(CONTAINER, NULL, "apr_{pstrdup,pstrndup,pstrmemdup,pstrcat,psprintf,pvsprintf}"),
	ALWAYS(WRAPPER, NULL,
	       "ngx_{alloc,calloc,palloc,pnalloc,pcalloc,pmemalign,memalign,palloc_small,palloc_large,palloc_block,"
	       "create_pool,pfree,slab_alloc,slab_calloc,slab_alloc_locked}"),
	ALWAYS(CONTAINER, NULL,
	       "ngx_{array_create,array_push,array_push_n,list_create,list_push,hash_init,hash_add_key,pstrdup,"
	       "create_temp_buf,create_chain_of_bufs,alloc_chain_link,chain_add_copy,hash_wildcard_init,"
	       "hash_keys_array_init}"),
	ALWAYS(WRAPPER, NULL,
	       "{CRYPTO_malloc,CRYPTO_zalloc,CRYPTO_realloc,CRYPTO_clear_realloc,CRYPTO_strdup,CRYPTO_strndup,"
	       "CRYPTO_memdup,CRYPTO_secure_malloc,CRYPTO_secure_zalloc,CRYPTO_aligned_alloc,CRYPTO_free,"
	       "OPENSSL_malloc,OPENSSL_memdup}"),
	ALWAYS(CONTAINER, NULL, "{OPENSSL_sk_*,OPENSSL_LH_*,BUF_MEM_*,CRYPTO_new_ex_data,CRYPTO_set_ex_data}"),
	ALWAYS(LIBRARY, NULL,
	       "{CRYPTO_*,OPENSSL_*,ossl_*,EVP_*,ASN1_*,X509_*,SSL_CTX_*,SSL_new,SSL_connect,SSL_accept}"),
	ALWAYS(WRAPPER, NULL,
	       "sqlite3{Malloc,MallocZero,MallocRaw,MallocAlloc,MemMalloc,MemRealloc,MemFree,Realloc,DbMallocRaw,"
	       "DbMallocRawNN,DbMallocZero,DbRealloc,DbReallocOrFree,DbStrDup,DbStrNDup,DbSpanDup,_malloc,_malloc64,"
	       "_realloc,_realloc64,_mprintf,_vmprintf,PageMalloc,PcacheMalloc,PCacheMalloc,MPrintf,VMPrintf}"),
	ALWAYS(WRAPPER, NULL, "{mallocWithAlarm,dbMallocRawFinish,dbReallocFinish,pcache1Alloc,pcache1AllocPage}"),
	ALWAYS(LIBRARY, NULL, "sqlite3*"),
	ALWAYS(CONTAINER, "sds",
	       "{sdsnew*,sdsempty,sdsdup,sdscat*,sdscpy*,sdsMakeRoomFor*,_sdsMakeRoomFor*,_sdsnewlen,sdstrynewlen,"
	       "sdsResize,sdsRemoveFreeSpace,sdsgrowzero,sdssplit*,sdsfromlonglong,sds_malloc,sds_realloc,hi_sds*}"),
	WITHIN("redis-", CONTAINER, NULL,
	       "{dictAdd*,dictExpand*,_dictExpand*,_dictResize*,dictResize*,dictCreate,dictInsert*,dictRehash*,"
	       "dictReplace*,dictFind*,listAddNode*,listCreate,listInsertNode,raxInsert*,raxNew*,raxGenericInsert,"
	       "raxAddChild,raxReallocForData,lpNew,lpInsert*,lpAppend*,lpPrepend*,ziplist*,quicklistCreate*,"
	       "quicklistPush*,quicklistInsert*,__quicklist*,_quicklist*,zslCreate*,zslInsert*,kvstoreDictAdd*,"
	       "intset*}"),
	WITHIN("valkey-", CONTAINER, NULL,
	       "{dict*,hashtable*,listAddNode*,listCreate,rax*,lp*,ziplist*,quicklist*,__quicklist*,_quicklist*,"
	       "zslCreate*,zslInsert*,kvstore*,intset*}"),

	// Python: also linked into its program
	ALWAYS(WRAPPER, NULL,
	       "{PyMem_*,_PyMem_*,PyObject_Malloc,PyObject_Calloc,PyObject_Realloc,PyObject_Free,_PyObject_Malloc,"
	       "_PyObject_Calloc,_PyObject_Realloc,_PyObject_Free,_PyObject_Alloc,_PyObject_GC_*,PyObject_GC_*,"
	       "_PyObject_New*,PyType_GenericAlloc,_PyType_AllocNoTrack,_PyObject_Arena*,_PyUnicodeWriter_*,"
	       "PyUnicodeWriter_*,_PyBytesWriter_*}"),
	WITHIN("python", WRAPPER, NULL,
	       "{pymalloc_*,object_new,gc_alloc,new_arena,allocate_from_new_pool,_PyObject_Init*,PyType_GenericNew}"),
	ALWAYS(CONTAINER, "list", "{PyList_*,_PyList_*}"),
	ALWAYS(CONTAINER, "dict",
	       "{PyDict_*,_PyDict_*,_PyObjectDict_*,PyObject_GenericSetDict,_PyObject_GenericSetAttrWithDict,"
	       "PyObject_GenericSetAttr}"),
	ALWAYS(CONTAINER, "tuple", "{PyTuple_*,_PyTuple_*,_PyStack_AsTuple*}"),
	ALWAYS(CONTAINER, "set", "{PySet_*,PyFrozenSet_*,_PySet_*}"),
	ALWAYS(CONTAINER, "str", "{PyUnicode_*,_PyUnicode_*,PyUnicodeUCS*}"),
	ALWAYS(CONTAINER, "bytes", "{PyBytes_*,_PyBytes_*,PyByteArray_*,PyMemoryView_*}"),
	ALWAYS(CONTAINER, "int", "{PyLong_*,_PyLong_*,PyFloat_*,_PyFloat_*}"),
	WITHIN("python", CONTAINER, "list", "{list_*,app1,ins1,listextend,listiter_*,listsort*}"),
	WITHIN("python", CONTAINER, "dict",
	       "{dict_*,dictresize,insertdict,insert_*,new_keys_object,new_dict*,insertion_resize,"
	       "clone_combined_dict*,make_keys_shared}"),
	WITHIN("python", CONTAINER, "str",
	       "{unicode_*,unicodeiter_*,resize_compact,resize_copy,ascii_decode,intern_*,do_string_format}"),
	WITHIN("python", CONTAINER, "tuple", "{tuple_*,tuplealloc,maybe_freelist_pop}"),
	WITHIN("python", CONTAINER, "set", "{set_*,frozenset_*,make_new_set*}"),
	WITHIN("python", CONTAINER, "bytes", "{bytes_*,bytearray_*,_PyBytes*}"),
	ALWAYS(RUNTIME, NULL,
	       "{_PyEval_*,PyEval_*,"
	       "PyRun_*,_PyRun_*,Py_RunMain,Py_BytesMain,Py_Main,Py_Initialize*,PyImport_*,_PyImport_*,"
	       "PyMethod_*,PyType_*,_PyType_*,PyObject_*,_PyObject_*,pymain_*,"
	       "run_eval_code_obj,run_mod,PyCell_*,PyGen_*,_PyGen_*,PyIter_*,PyErr_*,_PyErr_*,PyThread_*,PySys_*,"
	       "PyFrame_*,_PyFrame_*,PyMarshal_*,_PyAST_*,_PyPegen_*,PyAST_*}"),
	INTERPRETER(
		NULL,
		"{_PyEval_EvalFrame*,PyEval_EvalFrame*,_PyEval_Vector,_PyFunction_*,PyObject_Call*,_PyObject_Call*,"
		"_PyObject_FastCall*,_PyObject_MakeTpCall*,PyObject_Vectorcall*,_PyObject_Vectorcall*,PyVectorcall_*,"
		"_PyVectorcall_*,PyCFunction_*,_PyCFunction_*}"),
	INTERPRETER("python", "{method_vectorcall*,cfunction_*,method_call,wrap_*,slot_tp_*,type_call,bounded_lru_*}"),

	// node and V8
	WITHIN("node", ALLOCATOR, NULL,
	       "{node::NodeArrayBufferAllocator::*,node::Malloc,node::Calloc,node::Realloc,node::UncheckedMalloc,"
	       "node::UncheckedCalloc,node::UncheckedRealloc}"),
	ALWAYS(ALLOCATOR, NULL,
	       "{v8::internal::Malloced::*,v8::internal::AllocWithRetry,v8::internal::AlignedAlloc,"
	       "v8::internal::NewArray,v8::internal::AccountingAllocator::*,v8::internal::Zone::*,v8::base::Malloc,"
	       "v8::base::Calloc}"),
	ALWAYS(RUNTIME, NULL, "{v8::*,cppgc::*,napi_*}"),
	INTERPRETER(NULL, "Builtins_*"),
	WITHIN("node", RUNTIME, NULL, "{node::*,icu_*,main}"),
	ALWAYS(LIBRARY, NULL, "{uv_*,uv__*}"),
	ALWAYS(WRAPPER, NULL, "{uv__malloc,uv__calloc,uv__realloc,uv__strdup,uv__strndup,uv__reallocf}"),
	// Java
	WITHIN("jvm", ALLOCATOR, NULL,
	       "{AllocateHeap,ReallocateHeap,os::malloc,os::realloc,Arena::*,Chunk::*,CHeapObj*,AnyObj::*,"
	       "ResourceObj::*,ChunkPool::*,resource_allocate_bytes}"),
	ALWAYS(RUNTIME, NULL, "{JavaCalls::*,JavaThread::*,JavaMain,JNI_*,ThreadJavaMain}"),
	// Ruby
	ALWAYS(WRAPPER, NULL,
	       "{ruby_xmalloc*,ruby_xcalloc*,ruby_xrealloc*,ruby_strdup,ruby_mimmalloc,ruby_mimcalloc,"
	       "objspace_malloc*,objspace_xmalloc*,objspace_xcalloc*,objspace_xrealloc*,objspace_aligned*,"
	       "rb_alloc_tmp_buffer*,rb_xmalloc*,rb_xcalloc*,rb_xrealloc*,rb_gc_impl_malloc,rb_gc_impl_calloc,"
	       "rb_gc_impl_realloc,rb_malloc_*,rb_newobj*,rb_wb_*,rb_aligned_malloc}"),
	WITHIN("ruby", WRAPPER, NULL, "{newobj_*,heap_page_*,heap_assign_page,aligned_malloc}"),
	ALWAYS(CONTAINER, "Array", "rb_ary_*"),
	WITHIN("ruby", CONTAINER, "Array", "ary_*"),
	ALWAYS(CONTAINER, "Hash", "{rb_hash_*,rb_st_*}"),
	WITHIN("ruby", CONTAINER, "Hash", "{hash_*,ar_*,st_*,rebuild_table}"),
	ALWAYS(CONTAINER, "String",
	       "{rb_str_*,rb_enc_str_*,rb_usascii_str_*,rb_utf8_str_*,rb_external_str_*,rb_fstring*}"),
	WITHIN("ruby", CONTAINER, "String", "str_*"),
	ALWAYS(RUNTIME, NULL, "{rb_*,ruby_*}"),
	INTERPRETER(NULL, "{rb_vm_exec*,rb_vm_call*}"),
	INTERPRETER("ruby", "{vm_exec*,vm_call_*,vm_sendish*,invoke_block*,ractor_safe_call*}"),
	// PHP, Perl, Lua
	ALWAYS(WRAPPER, NULL,
	       "{_emalloc*,_ecalloc,_erealloc*,_estrdup,_safe_emalloc,__zend_malloc,__zend_calloc,__zend_realloc,"
	       "zend_mm_*,Perl_safesysmalloc,Perl_safesyscalloc,Perl_safesysrealloc,luaM_*,l_alloc}"),
	ALWAYS(RUNTIME, NULL,
	       "{zend_*,Perl_*,perl_run,perl_parse,lua_*,luaL_*,luaV_*,luaD_*,luaH_*,luaS_*,luaC_*,luaF_*,luaX_*,luaY_*}"),
	INTERPRETER(NULL, "{luaV_execute,luaD_call*,Perl_runops*}"),
	WITHIN("php", RUNTIME, NULL, "php_*"),
	INTERPRETER("php", "{execute_ex,zend_call_function*,zend_execute*}"),
	// Go
	ALWAYS(ALLOCATOR, NULL,
	       "{runtime.mallocgc*,runtime.newobject,runtime.makeslice*,runtime.growslice,runtime.makemap*,"
	       "runtime.makechan,runtime.persistentalloc*,runtime.sysAlloc*,runtime.(*mcache)*,runtime.(*mheap)*,"
	       "runtime.(*mcentral)*,runtime.concatstring*,runtime.rawstring*,_cgo_allocate}"),
	ALWAYS(RUNTIME, NULL,
	       "{runtime.*,runtime/*,reflect.*,sync.*,internal/*,syscall.*,_cgo_*,x_cgo_*,crosscall*,_rt0_*,type..*}"),

	// C: the library's own, also when it is linked into the program
	ALWAYS(LIBRARY, NULL,
	       "{,__}{strdup,strndup,wcsdup,asprintf,vasprintf,vasprintf_internal,asprintf_chk,vasprintf_chk,"
	       "getline,getdelim,open_memstream,fmemopen,opendir,fdopendir,scandir,scandir64,alloc_dir,opendirat,"
	       "glob,glob64,regcomp,qsort,qsort_r,bsearch,msort_with_tmp,hcreate,hcreate_r,tsearch,setvbuf,"
	       "getaddrinfo,freeaddrinfo,getpwnam,getpwuid,getgrnam,getgrgid,getpwnam_r,getpwuid_r,setlocale,"
	       "newlocale,iconv_open,dlopen,dlsym,dlclose,putenv,setenv,getcwd,get_current_dir_name,realpath,"
	       "realpath_chk,canonicalize_file_name,popen,tempnam,backtrace_symbols,argz_append,argz_add,fopen,"
	       "fopen64,fdopen,freopen,fclose,fflush,wordexp,strdup_chk,tzset,localtime,mktime,vsyslog,syslog,"
	       "fts_open,ftw,nftw,nftw64,pthread_create,pthread_getattr_np,pthread_setspecific,pthread_key_create,"
	       "timer_create,sem_open,mq_open,aio_read,vfprintf,fprintf,printf,vsnprintf,snprintf,sprintf,puts,"
	       "fputs,fread,fwrite,fgets,getc,ungetc,fscanf,sscanf}"),
	ALWAYS(LIBRARY, NULL,
	       "{_IO_*,__fopen_internal,_nl_*,__gconv_*,__nss_*,_nss_*,__res_*,__tz*,__vfprintf_internal,__printf_*,"
	       "__vasprintf_internal,__underflow,__uflow,__overflow,_dl_*,dl_open_worker*,__dl_*,__tls_get_addr*,"
	       "allocate_dtv*,allocate_stack,__pthread_create_*,do_dlopen,init_cacheinfo,__new_exitfn,__cxa_atexit,"
	       "__internal_atexit,atexit,exit,__run_exit_handlers,__exit_funcs*,re_compile_*,re_search*,regexec*,"
	       "parse_expression*,__scandir*,__alloc_dir,__opendirat,__GI_*}"),
	START("{_start,__libc_start_main,__libc_start_main_impl,__libc_start_call_main,__libc_start_main_stage2,"
	      "libc_start_main_stage2,generic_start_main,start_thread,clone,clone3,__clone,__clone3,__GI___clone,"
	      "thread_start,__libc_csu_init,call_init,_init,_fini,__do_global_ctors_aux,__thread_start,"
	      "thread_start_*}"),
};
const size_t frame_pattern_count = sizeof(frame_patterns) / sizeof(frame_patterns[0]);

const struct frame_pattern module_patterns[] = {
	PLACE(RUNTIME, "{ld-linux*,ld-musl*,ld-2*,ld64,ld,[vdso]*,linux-vdso*,linux-gate*}"),
	PLACE(LIBRARY,
	      "{libc,libc-2*,libc.musl*,libm,libm-2*,libmvec*,libdl,libdl-2*,librt,librt-2*,libresolv*,libnsl*,"
	      "libutil*,libnss_*,libcrypt,libanl,libthread_db*,libBrokenLocale*}"),
	PLACE(RUNTIME, "libpthread*"),
	PLACE(ALLOCATOR, "{libjemalloc*,libtcmalloc*,libmimalloc*,libtbbmalloc*,libsnmalloc*,libhoard*,librpmalloc*}"),
	PLACE(LIBRARY,
	      "{libstdc++*,libc++*,libgcc_s*,libunwind*,libgomp*,libomp*,libatomic*,libsupc++*,libasan*,libtsan*,"
	      "libubsan*,liblsan*,libgfortran*,libquadmath*}"),
	PLACE(LIBRARY, "{libglib-*,libgobject-*,libgio-*,libgmodule-*,libgthread-*,libgirepository-*,libgtk-*,libgdk-*,"
		       "libgdk_pixbuf*,libpango*,libcairo*,libatk-*,libatspi*,libharfbuzz*,libfontconfig*,libfreetype*,"
		       "libpixman*,libdbus-*}"),
	PLACE(LIBRARY,
	      "{libQt*,libX11*,libxcb*,libwayland-*,libGL*,libEGL*,libvulkan*,libdrm*,libLLVM*,libclang*,libSDL*}"),
	PLACE(RUNTIME,
	      "{libpython*,python,node,nodejs,ruby,ruby2*,ruby3*,python2*,python3*,libnode*,libv8*,libjvm*,libjli*,libjava,"
	      "libruby*,libperl*,libphp*,liblua*,libmono*,libcoreclr*,libguile*,libtcl*,libR,libjulia*,libgo}"),
	PLACE(LIBRARY,
	      "{libxml2*,libxslt*,libcrypto*,libssl*,libgnutls*,libnettle*,libgcrypt*,libz,libzstd*,liblzma*,"
	      "libbz2*,liblz4*,libsnappy*,libbrotli*,libsqlite3*,libcurl*,libnghttp2*,libuv*,libevent*,libev,"
	      "libexpat*,libpcre*,libyaml*,libjson*,libjansson*,libprotobuf*,libgrpc*,libabsl_*,libboost_*,"
	      "libfolly*,libicu*,libpng*,libjpeg*,libtiff*,libwebp*,libffi*,libselinux*,libapr-*,libaprutil-*,"
	      "libpq*,libmysqlclient*,libmariadb*,libldap*,libkrb5*,libgssapi*,libsystemd*,libncurses*,libtinfo*,"
	      "libreadline*,libelf*,libdw*,libopenblas*,libblas*,liblapack*,libtbb*,libhdf5*,libav*,libswscale*,"
	      "libgst*,libopencv_*,libudev*}"),
	PLACE(LIBRARY, "libheapsnap*"),
};
const size_t module_pattern_count = sizeof(module_patterns) / sizeof(module_patterns[0]);

const struct frame_pattern file_patterns[] = {
	PLACE(LIBRARY, "/usr/include/"),
	PLACE(LIBRARY, "/usr/lib/gcc/"),
	PLACE(LIBRARY, "/usr/lib/llvm"),
	PLACE(RUNTIME, "/rustc/"),
	PLACE(RUNTIME, "/lib/rustlib/src/rust/library/"),
	PLACE(LIBRARY, "/.cargo/registry/src/"),
	PLACE(LIBRARY, "/.cargo/git/checkouts/"),
	PLACE(LIBRARY, "/go/pkg/mod/"),
	PLACE(LIBRARY, "/site-packages/"),
	PLACE(LIBRARY, "/node_modules/"),
	PLACE(LIBRARY, "node:"), // modules of node's own, "node:internal/buffer"
	PLACE(LIBRARY, "/libstdc++-v3/"),
	PLACE(LIBRARY, "/vcpkg_installed/"),
	PLACE(LIBRARY, "/.conan/data/"),
	PLACE(LIBRARY, "/.conan2/p/"),
};
const size_t file_pattern_count = sizeof(file_patterns) / sizeof(file_patterns[0]);

const struct frame_pattern folder_patterns[] = {
	PLACE(RUNTIME, "/lib-dynload/"),
	PLACE(LIBRARY, "/lib/x86_64-linux-gnu/"),
	PLACE(LIBRARY, "/lib/aarch64-linux-gnu/"),
	PLACE(LIBRARY, "/usr/lib/"),
	PLACE(LIBRARY, "/usr/lib64/"),
	PLACE(LIBRARY, "/lib64/"),
	PLACE(LIBRARY, "/nix/store/"),
	PLACE(LIBRARY, "/snap/core"),
	PLACE(LIBRARY, "/site-packages/numpy"),
	PLACE(LIBRARY, "/node_modules/"),
};
const size_t folder_pattern_count = sizeof(folder_patterns) / sizeof(folder_patterns[0]);
